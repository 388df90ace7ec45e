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
			Summary: "Take a lock.",
			Doc: `Takes a lock for lease_seconds (1-3600). fencing_token grows with every new holder. Called again by its holder: a new lease, same token (reacquired). ` +
				`While another holds it: LOCK_HELD with lease_expires_at, or with wait_seconds your turn, first come, first served (a free lock is reserved a second ` +
				`for the next). Costs 5 units. Refusals: LOCK_HELD, SCOPE_DENIED, 402.`,
		}, acquireLock),
		op(Def{
			Name: "renew_lock", Log: "LOCK_RENEW", Method: "PATCH", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("renew_lock"),
			Subject: "name",
			Summary: "Renew a lock.",
			Doc: `Sets the lease to lease_seconds from now. NOT_FOUND: it ran out; acquire again and check your work. Costs 2 units. Refusals: NOT_FOUND, ` +
				`NOT_LOCK_HOLDER, SCOPE_DENIED, 402.`,
		}, renewLock),
		op(Def{
			Name: "release_lock", Log: "LOCK_RELEASE", Method: "DELETE", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("release_lock"),
			Subject: "name", WhileBlocked: true,
			Summary: "Release a lock.",
			Doc: `Frees a lock you hold, at zero balance and while blocked too (the owner frees others' by revoking keys). Free. Refusals: NOT_FOUND (nobody holds it), ` +
				`NOT_LOCK_HOLDER, SCOPE_DENIED.`,
		}, releaseLock),
		op(Def{
			Name: "get_lock_status", Log: "LOCK_STATUS", Method: "GET", Path: lockPath, Who: AnyKey, Price: billing.PriceOf("get_lock_status"),
			Subject: "name", ReadOnly: true, Idempotent: true,
			Summary: "Show who holds a lock.",
			Doc: `held (null holder: the owner key), expired, free or never_held; lease, fencing token, counts. Costs 1 unit, 0 if never held. Refusals: SCOPE_DENIED, ` +
				`402.`,
		}, lockStatus),
		op(Def{
			Name: "list_locks", Log: "LIST_LOCKS", Method: "GET", Path: workspacePath + "/locks", Who: AnyKey, Price: billing.PriceOf("list_locks"),
			ReadOnly: true, Idempotent: true,
			Summary: "List held locks.",
			Doc:     `The held locks in your scope, by name. Next page: after = the last name. Costs 1 unit. Refusals: 402.`,
			Parts:   "Ask with a smaller limit, then after = the last name.",
		}, listLocks),
	}
}

// AcquireLockIn is the input of acquire_lock.
type AcquireLockIn struct {
	Name         string `json:"name" check:"lock" doc:"1-255 bytes."`
	LeaseSeconds int64  `json:"lease_seconds" min:"1" max:"3600" doc:"From now on."`
	WaitSeconds  int64  `json:"wait_seconds" min:"0" max:"50" default:"0" doc:"Wait so long for your turn."`
}

// LeaseIn is the input of renew_lock.
type LeaseIn struct {
	Name         string `json:"name" check:"lock" doc:"1-255 bytes."`
	LeaseSeconds int64  `json:"lease_seconds" min:"1" max:"3600" doc:"From now on."`
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
	Name string `json:"name" check:"lock" doc:"1-255 bytes."`
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
	Limit int64   `json:"limit" min:"1" max:"1000" default:"1000" doc:"Most locks."`
	After *string `json:"after" check:"lock" null:"unlisted" doc:"Locks after this name."`
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
