package api

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
)

const lockPath = workspacePath + "/locks/{name...}"

func lockOps() []*Op {
	return []*Op{
		op(Def{
			Name: "acquire_lock", Log: "LOCK_ACQUIRE", Method: "PUT", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("acquire_lock"),
			Subject: "name",
			Summary: "Take a lock with a lease.",
			Doc: `Takes a named lock for lease_seconds (1-3600). Renew it before lease_expires_at or it is anybody's. fencing_token grows with every new holder. ` +
				`Called again by its holder it starts the lease anew (reacquired). While another holds it: LOCK_HELD with lease_expires_at, free of charge. ` +
				`With wait_seconds (0-50) the call waits for its turn instead; those who wait are served first come, first served, and a free lock is kept a second for the next (LOCK_HELD, reserved). ` +
				`Names are 1-255 bytes and obey the key's scope. Costs 5 units. Refusals: LOCK_HELD, SCOPE_DENIED, INSUFFICIENT_BALANCE, BUDGET_EXCEEDED.`,
		}, acquireLock),
		op(Def{
			Name: "renew_lock", Log: "LOCK_RENEW", Method: "PATCH", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("renew_lock"),
			Subject: "name",
			Summary: "Prolong the lease of a lock you hold.",
			Doc: `Sets the lease to lease_seconds (1-3600) from now; it may become shorter. NOT_FOUND when nobody holds the lock (also when your lease ran out: acquire again and check your work), ` +
				`NOT_LOCK_HOLDER when another does. Costs 2 units. Refusals: NOT_FOUND, NOT_LOCK_HOLDER, SCOPE_DENIED, INSUFFICIENT_BALANCE, BUDGET_EXCEEDED.`,
		}, renewLock),
		op(Def{
			Name: "release_lock", Log: "LOCK_RELEASE", Method: "DELETE", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("release_lock"),
			Subject: "name", WhileBlocked: true,
			Summary: "Give back a lock you hold.",
			Doc: `Frees the lock for others. Free of charge, at zero balance and in a blocked workspace too. Only the holder can; the owner revokes a key to free its locks. ` +
				`Refusals: NOT_FOUND (nobody holds it), NOT_LOCK_HOLDER, SCOPE_DENIED.`,
		}, releaseLock),
		op(Def{
			Name: "get_lock_status", Log: "LOCK_STATUS", Method: "GET", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("get_lock_status"),
			Subject: "name", ReadOnly: true, Idempotent: true,
			Summary: "Show who holds a lock.",
			Doc: `status is held, expired (the lease ran out), free or never_held; with holder, lease, fencing token and counts. A null holder of a held lock is the owner key. ` +
				`Costs 1 unit, nothing if the name was never held. Refusals: SCOPE_DENIED, INSUFFICIENT_BALANCE, BUDGET_EXCEEDED.`,
		}, lockStatus),
		op(Def{
			Name: "list_locks", Log: "LIST_LOCKS", Method: "GET", Path: workspacePath + "/locks", Who: AnyKey, Price: billing.PriceOf("list_locks"),
			ReadOnly: true, Idempotent: true,
			Summary: "List the locks that are held now.",
			Doc: `The held locks within your scope by name, with holder, lease and fencing token. Page with after = the last name of the page before. ` +
				`Costs 1 unit. Refusals: INSUFFICIENT_BALANCE, BUDGET_EXCEEDED.`,
		}, listLocks),
	}
}

// AcquireLockIn is the input of acquire_lock.
type AcquireLockIn struct {
	Name         string `json:"name" check:"lock" doc:"The lock's name: 1-255 bytes."`
	LeaseSeconds int64  `json:"lease_seconds" min:"1" max:"3600" doc:"The lease from now on, in seconds."`
	WaitSeconds  int64  `json:"wait_seconds" min:"0" max:"50" default:"0" doc:"How long to wait for the lock while another has it."`
}

// LeaseIn is the input of renew_lock.
type LeaseIn struct {
	Name         string `json:"name" check:"lock" doc:"The lock's name: 1-255 bytes."`
	LeaseSeconds int64  `json:"lease_seconds" min:"1" max:"3600" doc:"The lease from now on, in seconds."`
}

// AcquireLockOut is the output of acquire_lock.
type AcquireLockOut struct {
	Name           string `json:"name"`
	LeaseExpiresAt Time   `json:"lease_expires_at"`
	FencingToken   int64  `json:"fencing_token"`
	Reacquired     bool   `json:"reacquired"`
}

func acquireLock(ctx context.Context, c *Caller, in AcquireLockIn) (AcquireLockOut, error) {
	if in.WaitSeconds > 0 && !c.svc.draining() {
		return c.waitForLock(ctx, in)
	}
	out := AcquireLockOut{Name: in.Name}
	err := c.do(ctx, fn{
		name: "acquire_lock", price: c.op.Price.Base, args: []any{in.Name, in.LeaseSeconds},
		into: []any{&out.LeaseExpiresAt.Time, &out.FencingToken, &out.Reacquired}, once: true,
	})
	return out, reservedDetail(err)
}

// reservedDetail says of a lock that is free why it cannot be had all the same.
func reservedDetail(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Code == LockHeld && refusal.Extra["reserved"] == true {
		refusal.Detail = "The lock is free and kept until lease_expires_at for a call that waits for it. Call with wait_seconds to get into the line."
	}
	return err
}

// RenewLockOut is the output of renew_lock.
type RenewLockOut struct {
	Name           string `json:"name"`
	LeaseExpiresAt Time   `json:"lease_expires_at"`
	FencingToken   int64  `json:"fencing_token"`
}

func renewLock(ctx context.Context, c *Caller, in LeaseIn) (RenewLockOut, error) {
	out := RenewLockOut{Name: in.Name}
	err := c.do(ctx, fn{
		name: "renew_lock", price: c.op.Price.Base, args: []any{in.Name, in.LeaseSeconds},
		into: []any{&out.LeaseExpiresAt.Time, &out.FencingToken}, once: true,
	})
	return out, err
}

// LockIn names a lock.
type LockIn struct {
	Name string `json:"name" check:"lock" doc:"The lock's name: 1-255 bytes."`
}

// ReleaseLockOut is the output of release_lock.
type ReleaseLockOut struct {
	Name     string `json:"name"`
	Released bool   `json:"released"`
}

func releaseLock(ctx context.Context, c *Caller, in LockIn) (ReleaseLockOut, error) {
	err := c.do(ctx, fn{name: "release_lock", args: []any{in.Name}, once: true})
	return ReleaseLockOut{Name: in.Name, Released: true}, err
}

// LockStatusOut is the output of get_lock_status.
type LockStatusOut struct {
	Name           string  `json:"name"`
	Status         string  `json:"status"`
	HolderSubkeyID *string `json:"holder_subkey_id"`
	LeaseExpiresAt *Time   `json:"lease_expires_at"`
	FencingToken   *int64  `json:"fencing_token"`
	LastHolder     *string `json:"last_holder_subkey_id"`
	LastAcquiredAt *Time   `json:"last_acquired_at"`
	LastReleasedAt *Time   `json:"last_released_at"`
	AcquireCount   int64   `json:"acquire_count"`
	ReleaseCount   int64   `json:"release_count"`
}

func lockStatus(ctx context.Context, c *Caller, in LockIn) (LockStatusOut, error) {
	out := LockStatusOut{Name: in.Name}
	var holder, last *uuid.UUID
	var lease, acquired, released *time.Time
	err := c.do(ctx, fn{name: "get_lock_status", price: c.op.Price.Base, args: []any{in.Name}, into: []any{
		&out.Status, &holder, &lease, &out.FencingToken, &last, &acquired, &released, &out.AcquireCount, &out.ReleaseCount,
	}})
	out.HolderSubkeyID, out.LastHolder = idOrNil(holder), idOrNil(last)
	out.LeaseExpiresAt, out.LastAcquiredAt, out.LastReleasedAt = timeOrNil(lease), timeOrNil(acquired), timeOrNil(released)
	return out, err
}

// ListLocksIn is the input of list_locks.
type ListLocksIn struct {
	Limit int64   `json:"limit" min:"1" max:"1000" default:"1000" doc:"Locks to return."`
	After *string `json:"after" check:"lock" doc:"Return locks after this name."`
}

// HeldLockOut is one held lock. A null holder is the owner key.
type HeldLockOut struct {
	Name           string  `json:"name"`
	HolderSubkeyID *string `json:"holder_subkey_id"`
	LeaseExpiresAt Time    `json:"lease_expires_at"`
	FencingToken   int64   `json:"fencing_token"`
}

func listLocks(ctx context.Context, c *Caller, in ListLocksIn) (List[HeldLockOut], error) {
	var names []string
	var holders []*uuid.UUID
	var leases []time.Time
	var tokens []int64
	err := c.do(ctx, fn{
		name: "list_locks", price: c.op.Price.Base, args: []any{in.After, in.Limit},
		into: []any{&names, &holders, &leases, &tokens},
	})
	if err != nil {
		return List[HeldLockOut]{}, err
	}
	out := make([]HeldLockOut, len(names))
	for i, name := range names {
		out[i] = HeldLockOut{name, idOrNil(holders[i]), Time{leases[i]}, tokens[i]}
	}
	return listOf(out), nil
}
