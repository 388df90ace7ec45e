package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aanet/api/apitest"
)

func TestEvents(t *testing.T) {
	play(t, apitest.Options{},
		scene{"every kind of event", eventKinds},
		scene{"filters move the cursor", eventFilters},
		scene{"what a sub-key sees", eventsInScope},
		scene{"an event that comes", eventComes},
		scene{"where to begin and to go on", eventCursor},
		scene{"inputs that are refused", eventInputs},
	)
}

// events are the events of an answer.
func events(r apitest.Reply) []map[string]any {
	list, _ := r.Body["events"].([]any)
	rows := make([]map[string]any, len(list))
	for i, item := range list {
		rows[i], _ = item.(map[string]any)
	}
	return rows
}

// shownEvents are events in short: type and what it is about.
func shownEvents(r apitest.Reply) string {
	var all []string
	for _, e := range events(r) {
		subject := ""
		for _, field := range []string{"path", "lock_name", "topic"} {
			if s, ok := e[field].(string); ok {
				subject += " " + s
			}
		}
		all = append(all, fmt.Sprint(e["type"], subject))
	}
	return strings.Join(all, ", ")
}

func eventKinds(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	etag := a.Write(t, "d/f", "one")
	appended := ws.Owner.Append(t, "d/f", "two")
	a.Refused(t, "CONFLICT", "write_file", args{"path": "d/f", "content": "x", "if_match": etag})
	a.Acquire(t, "l", 60)
	a.OK(t, "release_lock", args{"name": "l"})
	a.Acquire(t, "m", 60)
	sent := ws.Owner.OK(t, "send_message", args{"body": "b", "topic": "t", "to_subkey_id": a.ID})
	ws.Owner.OK(t, "delete_file", args{"path": "d/f"})
	ws.Revoke(t, a)
	got := ws.Owner.Costs(t, 1, "wait", args{"after": 0})
	same(t, "events", shownEvents(got), "file_write d/f, file_write d/f, lock_available l, message t, file_delete d/f, lock_available m")
	log := ws.Log(t)
	for _, e := range events(got) {
		row := log[apitest.Int(e["seq"])-1]
		same(t, "ts", e["ts"], any(row.TS))
		same(t, "status", row.Status, "OK")
	}
	write, second, message := events(got)[0], events(got)[1], events(got)[3]
	same(t, "etag", write["etag"], any(etag))
	same(t, "who", write["subkey_id"], any(a.ID))
	same(t, "etag of the append", second["etag"], any(appended))
	same(t, "the owner", second["subkey_id"], nil)
	same(t, "message", message["message_id"], any(sent.Text("message_id")))
	same(t, "to", message["to_subkey_id"], any(a.ID))
	last := ws.Last(t)
	same(t, "row", shownRow(last), "WAIT <nil> 1")
	same(t, "next_after is past the call's own row", got.Int("next_after"), last.Seq)
}

func eventFilters(t *testing.T, ws *apitest.Workspace) {
	for i := range 5 {
		ws.Owner.Write(t, fmt.Sprint("a/", i), "x")
		ws.Owner.Write(t, fmt.Sprint("ab/", i), "x")
	}
	for _, name := range []string{"l", "m"} {
		ws.Owner.Acquire(t, name, 60)
		ws.Owner.OK(t, "release_lock", args{"name": name})
	}
	ws.Owner.Send(t, "b")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"types": "message, lock_available"}, "lock_available l, lock_available m, message"},
		{args{"types": "file_write", "path_prefix": "a/", "limit": 2}, "file_write a/0, file_write a/1"},
		{args{"path_prefix": "a/4", "lock_name": "m"}, "file_write a/4, lock_available m, message"},
		{args{"types": "file_delete"}, ""},
		{args{"types": "lock_available", "lock_name": "x"}, ""},
	} {
		c.in["after"] = 0
		got := ws.Owner.OK(t, "wait", c.in)
		same(t, fmt.Sprint(c.in), shownEvents(got), c.want)
		if c.in["limit"] == nil {
			same(t, "next_after", got.Int("next_after"), ws.Last(t).Seq)
		}
	}
	page := ws.Owner.OK(t, "wait", args{"after": 0, "types": "file_write", "path_prefix": "a", "limit": 2})
	next := ws.Owner.OK(t, "wait", args{"after": page.Body["next_after"], "types": "file_write", "path_prefix": "a", "limit": 3})
	same(t, "the next page", shownEvents(next), "file_write a/2, file_write a/3, file_write a/4")
}

func eventsInScope(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.MintWith(t, args{"path_scope_prefix": "a"}), ws.Mint(t)
	for _, path := range []string{"a/f", "ab/f", "c"} {
		ws.Owner.Write(t, path, "x")
	}
	for _, name := range []string{"a/l", "l"} {
		ws.Owner.Acquire(t, name, 60)
		ws.Owner.OK(t, "release_lock", args{"name": name})
	}
	ws.Owner.OK(t, "send_message", args{"body": "b", "topic": "to a", "to_subkey_id": a.ID})
	ws.Owner.OK(t, "send_message", args{"body": "b", "topic": "to b", "to_subkey_id": b.ID})
	ws.Owner.OK(t, "send_message", args{"body": "b", "topic": "to all"})
	same(t, "a sees", shownEvents(a.OK(t, "wait", args{"after": 0})), "file_write a/f, lock_available a/l, message to a, message to all")
	same(t, "b sees", shownEvents(b.OK(t, "wait", args{"after": 0, "types": "message"})), "message to b, message to all")
	same(t, "outside the scope", shownEvents(a.OK(t, "wait", args{"after": 0, "types": "file_write", "path_prefix": "c"})), "")
}

func eventComes(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "a"})
	from := a.OK(t, "wait", nil).Body["next_after"] // however late the call below begins
	wait := later(func() apitest.Reply {
		return a.Costs(t, 1, "wait", args{"after": from, "wait_seconds": 50, "types": "file_write"})
	})
	time.Sleep(50 * time.Millisecond)
	ws.Owner.Write(t, "b", "x")
	ws.Owner.Send(t, "m")
	ws.Owner.Write(t, "a", "x")
	got, _ := wait(t)
	same(t, "event", shownEvents(got), "file_write a")
	quiet := later(func() apitest.Reply {
		return a.Costs(t, 1, "wait", args{"after": got.Body["next_after"], "wait_seconds": 1})
	})
	ended, took := quiet(t)
	if len(events(ended)) != 0 || took < 900*time.Millisecond || ended.Int("next_after") < got.Int("next_after") {
		t.Errorf("a quiet wait answers %v after %v", ended.Body, took)
	}
	if list, ok := ended.Body["events"].([]any); !ok || list == nil {
		t.Errorf("no events are %v", ended.Body["events"])
	}
}

func eventCursor(t *testing.T, ws *apitest.Workspace) {
	ws.Owner.Write(t, "f", "x")
	now := ws.Owner.OK(t, "wait", nil)
	same(t, "from now on there is nothing", len(events(now)), 0)
	same(t, "cursor", now.Int("next_after"), ws.Last(t).Seq)
	ws.Owner.Write(t, "g", "x")
	same(t, "since then", shownEvents(ws.Owner.OK(t, "wait", args{"after": now.Body["next_after"]})), "file_write g")
	end := ws.Last(t).Seq
	ws.Owner.OK(t, "wait", args{"after": end})
	beyond := ws.Owner.Refused(t, "INVALID_ARGUMENT", "wait", args{"after": end + 100})
	if faults, ok := beyond.Body["errors"].([]any); !ok || len(faults) != 1 || !strings.Contains(fmt.Sprint(faults[0]), "after") {
		t.Errorf("faults %v", beyond.Body["errors"])
	}
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "wait", args{"after": int64(1)<<53 - 1})
}

func eventInputs(t *testing.T, ws *apitest.Workspace) {
	for _, wrong := range []args{
		{"after": -1}, {"after": "x"}, {"after": "9223372036854775807"}, {"limit": 0}, {"limit": 501}, {"types": ""}, {"types": "balance_low"},
		{"types": "message,"}, {"types": "Message"}, {"path_prefix": ""}, {"path_prefix": "../a"}, {"lock_name": ""}, {"since": "x"},
	} {
		wrong["wait_seconds"] = 0
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "wait", wrong)
	}
	poor := ws.World.Workspace(t, 0)
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "wait", args{"wait_seconds": 50})
}
