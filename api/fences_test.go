package api_test

import (
	"testing"
	"time"

	"aanet/api/apitest"
)

func TestFences(t *testing.T) {
	play(t, apitest.Options{},
		scene{"a holder that slept past its lease", sleptPastItsLease},
		scene{"what is no fence", noFence},
		scene{"both or neither", halfAFence},
		scene{"a fence within the scope", fenceInScope},
		scene{"the owner holds locks too", ownersFence},
	)
}

func fenced(path, content, lock string, token int64) args {
	return args{"path": path, "content": content, "lock_name": lock, "fencing_token": token}
}

// sleptPastItsLease is the classic pause: one holder sleeps, another takes over and writes, the first wakes and writes.
func sleptPastItsLease(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	first := a.Acquire(t, "report", 60)
	a.OK(t, "write_file", fenced("report.md", "by a", "report", first))

	later := ws.Later(t, 2*time.Minute)
	second := b.On(later).Acquire(t, "report", 60)
	etag := b.On(later).OK(t, "write_file", fenced("report.md", "by b", "report", second)).Text("etag")
	for _, world := range []*apitest.Workspace{ws, later} {
		a.On(world).Refused(t, "STALE_FENCE", "write_file", fenced("report.md", "by a, too late", "report", first))
		a.On(world).Refused(t, "STALE_FENCE", "append_file", fenced("report.md", "more by a", "report", first))
		a.On(world).Refused(t, "STALE_FENCE", "append_file", fenced("new.md", "by a", "report", second))
		a.On(world).Refused(t, "STALE_FENCE", "delete_file", args{"path": "report.md", "lock_name": "report", "fencing_token": first})
	}
	last := ws.Last(t)
	same(t, "status", last.Status, "STALE_FENCE")
	same(t, "logged", shownRow(last), "DELETE_FILE report.md 0")
	read := b.On(later).OK(t, "read_file", args{"path": "report.md"})
	same(t, "content", read.Text("content"), "by b")
	same(t, "etag", read.Text("etag"), etag)
	b.On(later).OK(t, "append_file", fenced("report.md", " and again", "report", second))
	b.On(later).OK(t, "delete_file", args{"path": "report.md", "lock_name": "report", "fencing_token": second})
}

func noFence(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	token := a.Acquire(t, "l", 60)
	for _, wrong := range []args{
		fenced("f", "x", "never held", 1), fenced("f", "x", "l", token+1), fenced("f", "x", "L", token),
	} {
		a.Refused(t, "STALE_FENCE", "write_file", wrong)
	}
	a.On(ws.Later(t, time.Hour)).Refused(t, "STALE_FENCE", "write_file", fenced("f", "x", "l", token))
	// That call has moved the workspace's clock on: the lease is over for everybody.
	a.Refused(t, "STALE_FENCE", "write_file", fenced("f", "x", "l", token))
	again := a.Acquire(t, "l", 60)
	a.OK(t, "write_file", fenced("f", "x", "l", again))
	a.OK(t, "renew_lock", lockArgs("l", 60))
	a.OK(t, "write_file", fenced("f", "x", "l", again))
	a.OK(t, "release_lock", args{"name": "l"})
	a.Refused(t, "STALE_FENCE", "write_file", fenced("f", "x", "l", again))
	a.OK(t, "write_file", args{"path": "f", "content": "no fence asked for", "lock_name": nil, "fencing_token": nil})
}

func halfAFence(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	token := a.Acquire(t, "l", 60)
	a.Write(t, "f", "x")
	for _, half := range []args{{"lock_name": "l"}, {"fencing_token": token}, {"lock_name": "", "fencing_token": token}, {"lock_name": "l", "fencing_token": 0}} {
		half["path"] = "f"
		a.Refused(t, "INVALID_ARGUMENT", "delete_file", half)
		half["content"] = "y"
		a.Refused(t, "INVALID_ARGUMENT", "write_file", half)
		a.Refused(t, "INVALID_ARGUMENT", "append_file", half)
	}
	same(t, "content", a.Read(t, "f"), "x")
}

func fenceInScope(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "in"})
	token := a.Acquire(t, "in/l", 60)
	a.Refused(t, "SCOPE_DENIED", "write_file", fenced("in/f", "x", "out", token))
	a.Refused(t, "SCOPE_DENIED", "write_file", fenced("out", "x", "in/l", token))
	a.OK(t, "write_file", fenced("in/f", "x", "in/l", token))
	ws.Mint(t).Refused(t, "STALE_FENCE", "write_file", fenced("in/f", "x", "in/l", token)) // the token of somebody else
}

func ownersFence(t *testing.T, ws *apitest.Workspace) {
	token := ws.Owner.Acquire(t, "l", 60)
	ws.Owner.OK(t, "write_file", fenced("f", "x", "l", token))
	ws.Mint(t).Refused(t, "STALE_FENCE", "write_file", fenced("f", "x", "l", token))
}
