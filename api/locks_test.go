package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"aanet/api/apitest"
)

func TestLocks(t *testing.T) {
	play(t, apitest.Options{},
		scene{"acquire, renew, release", lockLife},
		scene{"held by another", lockHeld},
		scene{"again by its holder", lockReacquired},
		scene{"a lease that ran out", leaseRunsOut},
		scene{"renewing may shorten", renewShortens},
		scene{"leases in bounds", leaseBounds},
		scene{"what the status tells", lockStatuses},
		scene{"names and scope", lockScopes},
		scene{"names that are refused", lockNames},
		scene{"a holder whose scope was narrowed", narrowedHolder},
		scene{"a list of what is held", listOfLocks},
		scene{"releasing without money and while blocked", releaseIsFree},
	)
}

func lockArgs(name string, seconds any) args { return args{"name": name, "lease_seconds": seconds} }

// instant reads a timestamp of an answer, which must have the one form.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	const layout = "2006-01-02T15:04:05.000000Z"
	at, err := time.Parse(layout, text)
	if err != nil || at.Format(layout) != text {
		t.Errorf("timestamp %q: %v", text, err)
	}
	return at
}

func lockLife(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	got := a.Costs(t, 5, "acquire_lock", lockArgs("l", 60))
	same(t, "name", got.Text("name"), "l")
	same(t, "reacquired", got.Body["reacquired"], any(false))
	now := instant(t, ws.Last(t).TS)
	if lease := instant(t, got.Text("lease_expires_at")).Sub(now); lease != time.Minute {
		t.Errorf("the lease is %v from the call's ts", lease)
	}
	renewed := a.Costs(t, 2, "renew_lock", lockArgs("l", 3600))
	same(t, "token after renewing", renewed.Int("fencing_token"), got.Int("fencing_token"))
	if lease := instant(t, renewed.Text("lease_expires_at")).Sub(instant(t, ws.Last(t).TS)); lease != time.Hour {
		t.Errorf("the renewed lease is %v from the call's ts", lease)
	}
	released := a.Costs(t, 0, "release_lock", args{"name": "l"})
	same(t, "released", released.Body["released"], any(true))
	a.Refused(t, "NOT_FOUND", "release_lock", args{"name": "l"})
	a.Refused(t, "NOT_FOUND", "renew_lock", lockArgs("l", 60))
	a.Refused(t, "NOT_FOUND", "renew_lock", lockArgs("never", 60))
	next := a.OK(t, "acquire_lock", lockArgs("l", 60))
	same(t, "reacquired after a release", next.Body["reacquired"], any(false))
	same(t, "next token", next.Int("fencing_token"), got.Int("fencing_token")+1)
}

func lockHeld(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	held := a.OK(t, "acquire_lock", lockArgs("l", 60))
	for _, other := range []apitest.Agent{b, ws.Owner} {
		refused := other.Refused(t, "LOCK_HELD", "acquire_lock", lockArgs("l", 60))
		same(t, "holder", refused.Text("holder_subkey_id"), a.ID)
		same(t, "lease", refused.Text("lease_expires_at"), held.Text("lease_expires_at"))
		other.Refused(t, "NOT_LOCK_HOLDER", "renew_lock", lockArgs("l", 60))
		other.Refused(t, "NOT_LOCK_HOLDER", "release_lock", args{"name": "l"})
	}
	same(t, "status", b.OK(t, "get_lock_status", args{"name": "l"}).Text("holder_subkey_id"), a.ID)

	ws.Owner.Acquire(t, "owner's", 60)
	refused := a.Refused(t, "LOCK_HELD", "acquire_lock", lockArgs("owner's", 60))
	if holder, given := refused.Body["holder_subkey_id"]; !given || holder != nil {
		t.Errorf("the owner as holder is %v (given: %v), want null", holder, given)
	}
}

func lockReacquired(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	first := a.OK(t, "acquire_lock", lockArgs("l", 60))
	again := a.Costs(t, 5, "acquire_lock", lockArgs("l", 3600))
	same(t, "status", again.Status, 200)
	same(t, "reacquired", again.Body["reacquired"], any(true))
	same(t, "token", again.Int("fencing_token"), first.Int("fencing_token"))
	if again.Text("lease_expires_at") <= first.Text("lease_expires_at") {
		t.Error("the lease did not start anew")
	}
	a.OK(t, "release_lock", args{"name": "l"})
	same(t, "after one release", a.OK(t, "get_lock_status", args{"name": "l"}).Text("status"), "free")
	ws.Owner.Acquire(t, "own", 60)
	same(t, "the owner again", ws.Owner.OK(t, "acquire_lock", lockArgs("own", 1)).Body["reacquired"], any(true))
}

func leaseRunsOut(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	token := a.Acquire(t, "l", 60)
	a.Acquire(t, "again", 60)
	later := ws.Later(t, 61*time.Second)
	a, b = a.On(later), b.On(later)
	same(t, "status", b.OK(t, "get_lock_status", args{"name": "l"}).Text("status"), "expired")
	same(t, "held locks", len(b.OK(t, "list_locks", nil).Rows()), 0)
	for _, key := range []apitest.Agent{a, b} {
		key.Refused(t, "NOT_FOUND", "renew_lock", lockArgs("l", 60))
		key.Refused(t, "NOT_FOUND", "release_lock", args{"name": "l"})
	}
	taken := b.OK(t, "acquire_lock", lockArgs("l", 60))
	same(t, "reacquired by another", taken.Body["reacquired"], any(false))
	same(t, "token of the next holder", taken.Int("fencing_token"), token+1)
	a.Refused(t, "NOT_LOCK_HOLDER", "renew_lock", lockArgs("l", 60))
	same(t, "an expired lock by its last holder", a.OK(t, "acquire_lock", lockArgs("again", 60)).Body["reacquired"], any(false))
}

func renewShortens(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Acquire(t, "l", 3600)
	a.OK(t, "renew_lock", lockArgs("l", 1))
	later := ws.Later(t, 1500*time.Millisecond)
	b.On(later).Acquire(t, "l", 60)
}

func leaseBounds(t *testing.T, ws *apitest.Workspace) {
	wrong := []any{0, -1, 3601, 1.5, nil, true, []int{60}, math.MaxInt32, json.RawMessage("9223372036854775808"), json.RawMessage("1e400"), json.RawMessage("-0.5"), "", "sixty"}
	for _, tool := range []string{"acquire_lock", "renew_lock"} {
		for _, seconds := range wrong {
			ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, lockArgs("l", seconds))
		}
		ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"name": "l"})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"name": "l", "lease_second": 60})
	}
	same(t, "never held", ws.Owner.OK(t, "get_lock_status", args{"name": "l"}).Text("status"), "never_held")
	for i, seconds := range []string{"1", "3600", "60.0", "1e2", "36e2", "0.5e1"} {
		ws.Owner.OK(t, "acquire_lock", lockArgs(fmt.Sprint("l", i), json.RawMessage(seconds)))
	}
}

func lockStatuses(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	never := b.Costs(t, 0, "get_lock_status", args{"name": "l"})
	same(t, "status", never.Text("status"), "never_held")
	for _, field := range []string{"holder_subkey_id", "lease_expires_at", "fencing_token", "last_holder_subkey_id", "last_acquired_at", "last_released_at"} {
		if value, given := never.Body[field]; !given || value != nil {
			t.Errorf("%s of a lock never held: %v (given: %v)", field, value, given)
		}
	}
	same(t, "acquire_count", never.Int("acquire_count"), 0)

	token := a.Acquire(t, "l", 60)
	acquired := ws.Last(t).TS
	held := b.Costs(t, 1, "get_lock_status", args{"name": "l"})
	same(t, "status", held.Text("status"), "held")
	same(t, "holder", held.Text("holder_subkey_id"), a.ID)
	same(t, "last holder", held.Text("last_holder_subkey_id"), a.ID)
	same(t, "token", held.Int("fencing_token"), token)
	same(t, "last_acquired_at", held.Text("last_acquired_at"), acquired)

	a.OK(t, "release_lock", args{"name": "l"})
	released := ws.Last(t).TS
	free := b.Costs(t, 1, "get_lock_status", args{"name": "l"})
	same(t, "status", free.Text("status"), "free")
	same(t, "holder", free.Body["holder_subkey_id"], nil)
	same(t, "lease", free.Body["lease_expires_at"], nil)
	same(t, "last holder", free.Text("last_holder_subkey_id"), a.ID)
	same(t, "last_released_at", free.Text("last_released_at"), released)
	same(t, "acquire_count", free.Int("acquire_count"), 1)
	same(t, "release_count", free.Int("release_count"), 1)

	ws.Owner.Acquire(t, "l", 60)
	owners := b.OK(t, "get_lock_status", args{"name": "l"})
	same(t, "status", owners.Text("status"), "held")
	same(t, "the owner as holder", owners.Body["holder_subkey_id"], nil)
	same(t, "the owner as last holder", owners.Body["last_holder_subkey_id"], nil)
	same(t, "acquire_count", owners.Int("acquire_count"), 2)
	later := ws.Later(t, time.Hour)
	expired := b.On(later).OK(t, "get_lock_status", args{"name": "l"})
	same(t, "status", expired.Text("status"), "expired")
	same(t, "expired lease", expired.Text("lease_expires_at"), owners.Text("lease_expires_at"))
}

func lockScopes(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "work/"})
	for _, name := range []string{"work", "work/1", "work//", "work/ /x"} {
		a.Acquire(t, name, 60)
	}
	before := ws.Balance(t)
	for _, name := range []string{"work-x", "other", "WORK/1", "wor", "workx/1", " work/1", "https://example.com/x"} {
		for _, tool := range []string{"acquire_lock", "renew_lock"} {
			a.Refused(t, "SCOPE_DENIED", tool, lockArgs(name, 60))
		}
		a.Refused(t, "SCOPE_DENIED", "release_lock", args{"name": name})
		a.Refused(t, "SCOPE_DENIED", "get_lock_status", args{"name": name})
	}
	same(t, "balance", ws.Balance(t), before)
	ws.Owner.Acquire(t, "other", 60)
	a.Refused(t, "SCOPE_DENIED", "acquire_lock", lockArgs("other", 60))
}

func lockNames(t *testing.T, ws *apitest.Workspace) {
	for _, name := range []string{"", ".", "..", "work/../other", "a/.", "./a", "a\x00b", "a\nb", "\u0085", randomText(256)} {
		for _, tool := range []string{"acquire_lock", "renew_lock"} {
			ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, lockArgs(name, 60))
		}
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "release_lock", args{"name": name})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_lock_status", args{"name": name})
	}
	names := []string{"https://example.com/a?b=c#d", "renew", "release", "a/b", "a%2Fb", "a%252Fb", " ", "?", "#", "🔒", `a\b`, "/a", "a/", "/", "..."}
	for _, name := range names {
		got := ws.Owner.OK(t, "acquire_lock", lockArgs(name, 60))
		same(t, "name", got.Text("name"), name)
		same(t, name+" is new", got.Int("fencing_token"), 1)
	}
	same(t, "held locks", len(ws.Owner.OK(t, "list_locks", nil).Rows()), len(names))
}

func narrowedHolder(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "x"})
	a.Acquire(t, "x/1", 60)
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "path_scope_prefix": "y"})
	a.Refused(t, "SCOPE_DENIED", "acquire_lock", lockArgs("x/1", 60))
	a.Refused(t, "SCOPE_DENIED", "renew_lock", lockArgs("x/1", 60))
	a.Refused(t, "SCOPE_DENIED", "get_lock_status", args{"name": "x/1"})
	same(t, "listed", len(a.OK(t, "list_locks", nil).Rows()), 0)
	a.Costs(t, 0, "release_lock", args{"name": "x/1"})
	a.Refused(t, "SCOPE_DENIED", "release_lock", args{"name": "x/1"})
	same(t, "status", ws.Owner.OK(t, "get_lock_status", args{"name": "x/1"}).Text("status"), "free")
}

func listOfLocks(t *testing.T, ws *apitest.Workspace) {
	empty := ws.Owner.Costs(t, 1, "list_locks", nil)
	if rows := empty.Rows(); rows == nil || len(rows) != 0 {
		t.Errorf("no lock is held and the list is %v", empty.Body["result"])
	}
	a := ws.MintWith(t, args{"path_scope_prefix": "w"})
	token := a.Acquire(t, "w/1", 60)
	for _, name := range []string{"w", "w!", "w0", "x", "w/2"} {
		ws.Owner.Acquire(t, name, 60)
	}
	ws.Owner.Acquire(t, "w/free", 60)
	ws.Owner.OK(t, "release_lock", args{"name": "w/free"})
	names := func(r apitest.Reply) string {
		var all []any
		for _, row := range r.Rows() {
			all = append(all, row["name"])
		}
		return fmt.Sprint(all)
	}
	same(t, "all", names(ws.Owner.OK(t, "list_locks", nil)), "[w w! w/1 w/2 w0 x]")
	same(t, "in scope", names(a.OK(t, "list_locks", nil)), "[w w/1 w/2]")
	same(t, "first page", names(a.OK(t, "list_locks", args{"limit": 2})), "[w w/1]")
	same(t, "second page", names(a.OK(t, "list_locks", args{"limit": 2, "after": "w/1"})), "[w/2]")
	same(t, "after what is no lock", names(ws.Owner.OK(t, "list_locks", args{"after": "w/11"})), "[w/2 w0 x]")
	row := a.OK(t, "list_locks", args{"after": "w"}).Rows()[0]
	same(t, "holder", row["holder_subkey_id"], any(a.ID))
	same(t, "token", apitest.Int(row["fencing_token"]), token)
	for _, wrong := range []args{{"limit": 0}, {"limit": 1001}, {"after": ""}, {"after": "a\x00"}} {
		a.Refused(t, "INVALID_ARGUMENT", "list_locks", wrong)
	}
}

func releaseIsFree(t *testing.T, ws *apitest.Workspace) {
	poor := ws.World.Workspace(t, 10)
	poor.Owner.Acquire(t, "l", 60)
	poor.Owner.Acquire(t, "m", 60)
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "renew_lock", lockArgs("l", 60))
	poor.Owner.Costs(t, 0, "release_lock", args{"name": "l"})
	poor.Block(t, true)
	poor.Owner.Refused(t, "WORKSPACE_BLOCKED", "renew_lock", lockArgs("m", 60))
	poor.Owner.Costs(t, 0, "release_lock", args{"name": "m"})
	poor.CheckLedger(t)
}
