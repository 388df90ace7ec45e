// Package client is the Go client of AANet over REST: one method for each operation of the service, typed in and out, and
// what programs need around them.
//
//	workspace, err := client.New("http://127.0.0.1:8402", "").CreateWorkspace(ctx, client.CreateWorkspaceIn{Label: "swarm"})
//	owner := client.New("http://127.0.0.1:8402", workspace.OwnerKey)
//	minted, err := owner.MintSubkey(ctx, client.MintSubkeyIn{Label: "agent 1", BudgetCap: new(int64(5_000))})
//	agent := owner.WithKey(minted.Key)
//	err = agent.WithLock(ctx, client.HoldLockIn{Name: "build", Wait: time.Minute}, func(ctx context.Context, lease *client.Lease) error {
//		_, err := agent.WriteFile(ctx, client.WriteFileIn{
//			Path: "build/result.md", Content: "done", LockName: new(lease.Name()), FencingToken: new(lease.FencingToken()),
//		})
//		return err
//	})
//
// # Refusals
//
// A refusal of the service is an *Error with its code, its sentence, the faults of the input and the request id; it is free
// and changed nothing. errors.Is(err, client.CodeLockHeld) asks for one code. A call that got no answer is ErrNotReached.
// Temporary tells whether trying again later may help.
//
// # Repeats
//
// Calls are repeated only where that cannot do anything twice: reads, calls that the service has refused with RATE_LIMITED,
// calls that never left, and changes under an idempotency key. The client gives every change that takes one such a key, so
// a change whose answer was lost is sent again and done once. Pauses are what Retry-After says, otherwise they grow from
// 50 ms with a random part; see WithRetries and WithLongestPause. CreateWorkspace, CreateTrialWorkspace and DeleteWorkspace
// take no key: when their answer is lost, look before trying again.
//
// # Locks, messages and events
//
// HoldLock and WithLock keep a lease for as long as the work takes and end the work's context when it is lost.
// FollowMessages and FollowEvents give each message or event once and in order, and go on where they were when the
// connection breaks.
//
// # What things cost
//
// WithMeta tells what one call cost and what the key can still spend; WithObserver tells it of every call.
//
// A Client keeps its connections and may be used by many goroutines at once.
package client
