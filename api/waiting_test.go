package api_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/store"
	"aanet/store/storetest"
)

func TestWaiting(t *testing.T) {
	play(t, apitest.Options{},
		scene{"a message that comes", messageComes},
		scene{"no message comes", noMessageComes},
		scene{"messages of others wake nobody", othersMessages},
		scene{"a lock that is released", lockComes},
		scene{"a lock that is not released", lockStaysHeld},
		scene{"a lease that runs out", leaseEndsForWaiter},
		scene{"nobody gets in before those who wait", noBarging},
		scene{"a waiter without money", poorWaiter},
		scene{"a waiter that is revoked", revokedWaiter},
		scene{"a waiter whose key was replaced", replacedWaiter},
		scene{"a waiter whose workspace is blocked", blockedWaiter},
		scene{"a repeat of a call that waits", repeatedWait},
		scene{"how long one may wait", waitBounds},
	)
}

// later runs a call beside the story. What it gives waits for the answer and tells how long that took.
func later(call func() apitest.Reply) func(t *testing.T) (apitest.Reply, time.Duration) {
	began, answer := time.Now(), make(chan apitest.Reply, 1)
	go func() { answer <- call() }()
	return func(t *testing.T) (apitest.Reply, time.Duration) {
		t.Helper()
		select {
		case r := <-answer:
			return r, time.Since(began)
		case <-time.After(2 * patience):
			t.Fatal("the call that waits is not answered")
			return apitest.Reply{}, 0
		}
	}
}

// tickets waits until so many calls wait for locks in the workspace.
func tickets(t *testing.T, ws *apitest.Workspace, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d wait for locks", want), func() bool {
		n, err := ws.Store.LockTickets(t.Context(), uuid.MustParse(ws.ID))
		if err != nil {
			t.Fatal(err)
		}
		return int(n) == want
	})
}

// Bounds that a busy machine keeps too. A wait of 50 seconds that ends promptly did not end by itself.
const (
	patience = time.Minute
	promptly = 30 * time.Second
)

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// standStill stops the clock of a workspace: an hour ahead, calls of now get a microsecond each. So no second that the
// service counts is over before the story says so.
func standStill(t *testing.T, ws *apitest.Workspace) {
	t.Helper()
	ws.Later(t, time.Hour).Owner.Write(t, "clock", "x")
}

func waitFor(name string, lease, seconds int) args {
	return args{"name": name, "lease_seconds": lease, "wait_seconds": seconds}
}

func messageComes(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	old := ws.Owner.Send(t, "old")
	wait := later(func() apitest.Reply {
		return a.Costs(t, 1, "get_messages", args{"since": old, "topic": "t", "wait_seconds": 50})
	})
	all := later(func() apitest.Reply { return ws.Owner.OK(t, "get_messages", args{"since": old, "wait_seconds": 50}) })
	time.Sleep(50 * time.Millisecond)
	b.OK(t, "send_message", args{"body": "other", "topic": "u"})
	first, _ := all(t)
	same(t, "what the owner gets", first.Rows()[0]["body"], any("other"))
	b.OK(t, "send_message", args{"body": "new", "topic": "t", "to_subkey_id": a.ID})
	got, _ := wait(t)
	if rows := got.Rows(); len(rows) != 1 || rows[0]["body"] != any("new") {
		t.Errorf("got %v", rows)
	}
	there := a.Costs(t, 1, "get_messages", args{"since": old, "wait_seconds": 50})
	same(t, "what is there already", len(there.Rows()), 2)
}

func noMessageComes(t *testing.T, ws *apitest.Workspace) {
	wait := later(func() apitest.Reply { return ws.Owner.Costs(t, 1, "get_messages", args{"wait_seconds": 1}) })
	got, took := wait(t)
	if rows := got.Rows(); rows == nil || len(rows) != 0 || took < 900*time.Millisecond {
		t.Errorf("got %v after %v", rows, took)
	}
	same(t, "row", shownRow(ws.Last(t)), "GET_MESSAGES <nil> 1")
	poor := ws.MintWith(t, args{"budget_cap": 1})
	poor.OK(t, "get_messages", nil)
	refused := later(func() apitest.Reply {
		return poor.Refused(t, "BUDGET_EXCEEDED", "get_messages", args{"wait_seconds": 50})
	})
	if _, took := refused(t); took > promptly {
		t.Errorf("a call that could not be paid was refused after %v", took)
	}
}

func othersMessages(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	wait := later(func() apitest.Reply { return a.Costs(t, 1, "get_messages", args{"wait_seconds": 1}) })
	ws.Owner.OK(t, "send_message", args{"body": "for b", "to_subkey_id": b.ID})
	got, took := wait(t)
	if len(got.Rows()) != 0 || took < 900*time.Millisecond {
		t.Errorf("got %v after %v", got.Rows(), took)
	}
}

func lockComes(t *testing.T, ws *apitest.Workspace) {
	a, b, c := ws.Mint(t), ws.Mint(t), ws.Mint(t)
	token := a.Acquire(t, "l", 60)
	same(t, "holder's own again", a.OK(t, "acquire_lock", waitFor("l", 60, 50)).Body["reacquired"], any(true))
	first := later(func() apitest.Reply { return b.Costs(t, 5, "acquire_lock", waitFor("l", 60, 50)) })
	tickets(t, ws, 1)
	second := later(func() apitest.Reply { return c.Costs(t, 5, "acquire_lock", waitFor("l", 60, 50)) })
	tickets(t, ws, 2)
	a.OK(t, "release_lock", args{"name": "l"})
	got, _ := first(t)
	same(t, "token", got.Int("fencing_token"), token+1)
	same(t, "reacquired", got.Body["reacquired"], any(false))
	same(t, "holder", ws.Owner.OK(t, "get_lock_status", args{"name": "l"}).Text("holder_subkey_id"), b.ID)
	ws.Revoke(t, b)
	got, _ = second(t)
	same(t, "token after a revoke", got.Int("fencing_token"), token+2)
	tickets(t, ws, 0)
	same(t, "free at once", ws.Owner.Costs(t, 5, "acquire_lock", waitFor("m", 60, 50)).Int("fencing_token"), 1)
}

func lockStaysHeld(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Acquire(t, "l", 60)
	wait := later(func() apitest.Reply { return b.Refused(t, "LOCK_HELD", "acquire_lock", waitFor("l", 60, 1)) })
	got, took := wait(t)
	same(t, "holder", got.Text("holder_subkey_id"), a.ID)
	if took < 900*time.Millisecond {
		t.Errorf("waited only %v", took)
	}
	last := ws.Last(t)
	same(t, "row", shownRow(last)+" "+last.Status, "LOCK_ACQUIRE l 0 LOCK_HELD")
	tickets(t, ws, 0)
	a.OK(t, "release_lock", args{"name": "l"})
	b.Acquire(t, "l", 60)
	refused := later(func() apitest.Reply {
		return ws.MintWith(t, args{"path_scope_prefix": "x"}).Refused(t, "SCOPE_DENIED", "acquire_lock", waitFor("l", 60, 50))
	})
	if _, took := refused(t); took > promptly {
		t.Errorf("what can never be was refused after %v", took)
	}
}

func leaseEndsForWaiter(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Acquire(t, "l", 1)
	wait := later(func() apitest.Reply { return b.Costs(t, 5, "acquire_lock", waitFor("l", 60, 50)) })
	if _, took := wait(t); took > promptly {
		t.Errorf("the lease of a second was handed over after %v", took)
	}
	same(t, "holder", ws.Owner.OK(t, "get_lock_status", args{"name": "l"}).Text("holder_subkey_id"), b.ID)
}

// noBarging has a waiter that is slow: it holds a ticket and does not look.
func noBarging(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	standStill(t, ws)
	a.Acquire(t, "l", 60)
	slow, replica := uuid.New(), uuid.New()
	storetest.Exec(t, ws.DSN, `insert into replicas (replica_id, beat_at) values ($1, aanet_now() + interval '1 day')`, replica)
	result, err := ws.Store.Do(t.Context(), waitForLock(ws, ws.Mint(t), "l", slow, replica))
	if err != nil || result.Code != "" || result.Cost != 0 {
		t.Errorf("a ticket by hand: %+v %v", result, err)
	}
	a.OK(t, "release_lock", args{"name": "l"})
	refused := b.Refused(t, "LOCK_HELD", "acquire_lock", lockArgs("l", 60))
	same(t, "reserved", refused.Body["reserved"], any(true))
	same(t, "holder", refused.Body["holder_subkey_id"], nil)
	wait := instant(t, refused.Text("lease_expires_at")).Sub(instant(t, ws.Last(t).TS))
	if wait <= 0 || wait > time.Second {
		t.Errorf("the lock is kept for %v", wait)
	}
	b.On(ws.Later(t, time.Hour+10*time.Minute)).Acquire(t, "l", 60) // the second of the slow one is over
	if _, err := ws.Store.Do(t.Context(), store.Call{Function: "leave_lock", Workspace: uuid.MustParse(ws.ID), Args: []any{"l", slow}, Into: []any{new(bool)}}); err != nil {
		t.Error(err)
	}
}

// waitForLock is the call that a waiting acquire_lock makes.
func waitForLock(ws *apitest.Workspace, a apitest.Agent, name string, waiter, replica uuid.UUID) store.Call {
	key, _ := api.ParseKey(a.Key)
	hash := key.Hash()
	return store.Call{
		Function: "wait_for_lock", Workspace: uuid.MustParse(ws.ID),
		Args: []any{hash[:], ws.ID, 2, "LOCK_ACQUIRE", 5, name, 60, waiter, replica, false, nil},
		Into: []any{new(*time.Time), new(*int64), new(*bool), new(bool), new(*int64), new(*int64), new(*float64), new(*uuid.UUID)},
	}
}

func poorWaiter(t *testing.T, ws *apitest.Workspace) {
	a, poor, c := ws.Mint(t), ws.MintWith(t, args{"budget_cap": 4}), ws.Mint(t)
	a.Acquire(t, "l", 60)
	first := later(func() apitest.Reply { return poor.Refused(t, "BUDGET_EXCEEDED", "acquire_lock", waitFor("l", 60, 50)) })
	tickets(t, ws, 1)
	second := later(func() apitest.Reply { return c.Costs(t, 5, "acquire_lock", waitFor("l", 60, 50)) })
	tickets(t, ws, 2)
	a.OK(t, "release_lock", args{"name": "l"})
	refused, _ := first(t)
	same(t, "required", refused.Int("required"), 5)
	got, _ := second(t)
	same(t, "the next one's token", got.Int("fencing_token"), 2)
}

func revokedWaiter(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Acquire(t, "l", 60)
	lock := later(func() apitest.Reply { return b.Refused(t, "UNAUTHENTICATED", "acquire_lock", waitFor("l", 60, 50)) })
	tickets(t, ws, 1)
	inbox := later(func() apitest.Reply { return b.Refused(t, "UNAUTHENTICATED", "get_messages", args{"wait_seconds": 50}) })
	feed := later(func() apitest.Reply { return b.Refused(t, "UNAUTHENTICATED", "wait", args{"wait_seconds": 50}) })
	time.Sleep(100 * time.Millisecond)
	revoked := time.Now()
	ws.Revoke(t, b)
	for _, wait := range []func(*testing.T) (apitest.Reply, time.Duration){lock, inbox, feed} {
		wait(t)
	}
	if took := time.Since(revoked); took > promptly {
		t.Errorf("sent away after %v", took)
	}
	tickets(t, ws, 0)
}

// replacedWaiter uses the new key for the first time, which the log does not show.
func replacedWaiter(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Acquire(t, "l", 60)
	lock := later(func() apitest.Reply { return b.Refused(t, "UNAUTHENTICATED", "acquire_lock", waitFor("l", 60, 50)) })
	tickets(t, ws, 1)
	inbox := later(func() apitest.Reply { return b.Refused(t, "UNAUTHENTICATED", "get_messages", args{"wait_seconds": 50}) })
	fresh := rotate(t, ws, b, nil)
	tickets(t, ws, 1)
	used := time.Now()
	fresh.OK(t, "get_remaining_balance", nil)
	for _, wait := range []func(*testing.T) (apitest.Reply, time.Duration){lock, inbox} {
		wait(t)
	}
	if took := time.Since(used); took > promptly {
		t.Errorf("sent away after %v", took)
	}
	tickets(t, ws, 0)
}

func blockedWaiter(t *testing.T, ws *apitest.Workspace) {
	other := ws.World.Workspace(t, 100)
	wait := later(func() apitest.Reply {
		return other.Owner.Refused(t, "WORKSPACE_BLOCKED", "get_messages", args{"wait_seconds": 50})
	})
	time.Sleep(50 * time.Millisecond)
	other.Block(t, true)
	if _, took := wait(t); took > promptly {
		t.Errorf("sent away after %v", took)
	}
}

// repeatedWait repeats a call while the first still waits, and once more when it has the lock.
func repeatedWait(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Acquire(t, "l", 60)
	in := with(waitFor("l", 60, 50), "k")
	var waits []func(*testing.T) (apitest.Reply, time.Duration)
	for i := range 2 {
		waits = append(waits, later(func() apitest.Reply { return b.OK(t, "acquire_lock", in) }))
		tickets(t, ws, i+1)
	}
	a.OK(t, "release_lock", args{"name": "l"})
	first, _ := waits[0](t)
	second, _ := waits[1](t)
	third := b.Costs(t, 0, "acquire_lock", in)
	same(t, "cost", first.Cost+second.Cost, 5)
	for _, again := range []apitest.Reply{second, third} {
		same(t, "answer", fmt.Sprint(again.Body), fmt.Sprint(first.Body))
	}
	same(t, "replayed", fmt.Sprint(first.Replayed, second.Replayed, third.Replayed), "false true true")
	tickets(t, ws, 0)
	other := waitFor("l", 61, 50)
	b.Refused(t, "IDEMPOTENCY_CONFLICT", "acquire_lock", with(other, "k"))
}

func waitBounds(t *testing.T, ws *apitest.Workspace) {
	for _, wrong := range []any{-1, 51, 1.5, "soon"} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_messages", args{"wait_seconds": wrong})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "wait", args{"wait_seconds": wrong})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "acquire_lock", args{"name": "l", "lease_seconds": 60, "wait_seconds": wrong})
	}
	ws.Owner.OK(t, "get_messages", args{"wait_seconds": 0})
}

// soak tells whether long tests are wanted: AANET_TEST_SOAK is set.
func soak() bool { return os.Getenv("AANET_TEST_SOAK") != "" }
