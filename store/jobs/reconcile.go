package jobs

import (
	"context"
	"time"
)

// ReconcileDeposits brings deposits to an end that nobody works on.
type ReconcileDeposits struct{}

// Kind names the job in its table.
func (ReconcileDeposits) Kind() string { return "reconcile_deposits" }

const reconcileEvery = 15 * time.Second

func reconcileDeposits(do func(context.Context) error) whole {
	return whole{reconcileEvery, "reconcile the deposits", do}
}
