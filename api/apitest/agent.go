package apitest

import (
	"testing"
)

// Agent is a key in use: the owner key when ID is empty, else a sub-key.
type Agent struct {
	ID  string
	Key string

	ws *Workspace
}

// Mint makes a sub-key without scope or cap.
func (ws *Workspace) Mint(t testing.TB) Agent {
	t.Helper()
	return ws.MintWith(t, nil)
}

// MintWith makes a sub-key with a path_scope_prefix, a budget_cap, or both.
func (ws *Workspace) MintWith(t testing.TB, args Args) Agent {
	t.Helper()
	all := Args{"label": "an agent"}
	for name, value := range args {
		all[name] = value
	}
	made := ws.Owner.OK(t, "mint_subkey", all)
	return Agent{ws: ws, ID: made.Text("subkey_id"), Key: made.Text("key")}
}

// On is the same key used on a replica's workspace.
func (a Agent) On(ws *Workspace) Agent {
	a.ws = ws
	return a
}

// Call makes a call in the agent's workspace, whatever comes of it. No answer may be a 5xx.
func (a Agent) Call(t testing.TB, tool string, args Args) Reply {
	t.Helper()
	return a.In(t, a.ws.ID, tool, args)
}

// In makes a call that names any workspace.
func (a Agent) In(t testing.TB, workspace, tool string, args Args) Reply {
	t.Helper()
	r := a.ws.Door.Call(t, tool, a.Key, workspace, args)
	if r.Status >= 500 {
		t.Errorf("%s: %d %s %v", tool, r.Status, r.Code, r.Body)
	}
	if r.Code != "" && r.Cost != 0 {
		t.Errorf("%s was refused as %s and yet cost %d", tool, r.Code, r.Cost)
	}
	return r
}

// OK makes a call that must succeed.
func (a Agent) OK(t testing.TB, tool string, args Args) Reply {
	t.Helper()
	r := a.Call(t, tool, args)
	if r.Code != "" {
		t.Errorf("%s: %d %s %v", tool, r.Status, r.Code, r.Body)
	}
	return r
}

// Costs makes a call that must succeed and cost so many units.
func (a Agent) Costs(t testing.TB, units int64, tool string, args Args) Reply {
	t.Helper()
	r := a.OK(t, tool, args)
	if r.Code == "" && r.Cost != units {
		t.Errorf("%s cost %d units, want %d", tool, r.Cost, units)
	}
	return r
}

// Refused makes a call that must be refused with the code, free of charge.
func (a Agent) Refused(t testing.TB, code, tool string, args Args) Reply {
	t.Helper()
	r := a.Call(t, tool, args)
	if r.Code != code {
		t.Errorf("%s: got %d %q, want %s (%v)", tool, r.Status, r.Code, code, r.Body)
	}
	return r
}

// Write writes a file and gives its etag.
func (a Agent) Write(t testing.TB, path, content string) string {
	t.Helper()
	return a.OK(t, "write_file", Args{"path": path, "content": content}).Text("etag")
}

// Append adds to a file and gives its etag.
func (a Agent) Append(t testing.TB, path, content string) string {
	t.Helper()
	return a.OK(t, "append_file", Args{"path": path, "content": content}).Text("etag")
}

// Read gives the content of a file.
func (a Agent) Read(t testing.TB, path string) string {
	t.Helper()
	return a.OK(t, "read_file", Args{"path": path}).Text("content")
}

// List gives the entries of a directory.
func (a Agent) List(t testing.TB, path string) []string {
	t.Helper()
	return a.OK(t, "read_file", Args{"path": path}).Texts("entries")
}

// Acquire takes a lock and gives its fencing token.
func (a Agent) Acquire(t testing.TB, name string, seconds int) int64 {
	t.Helper()
	return a.OK(t, "acquire_lock", Args{"name": name, "lease_seconds": seconds}).Int("fencing_token")
}

// Send broadcasts a message and gives its timestamp.
func (a Agent) Send(t testing.TB, body string) string {
	t.Helper()
	return a.OK(t, "send_message", Args{"body": body}).Text("ts")
}

// Inbox gives the bodies of the messages that match, oldest first.
func (a Agent) Inbox(t testing.TB, args Args) []string {
	t.Helper()
	bodies := []string{}
	for _, row := range a.OK(t, "get_messages", args).Rows() {
		body, _ := row["body"].(string)
		bodies = append(bodies, body)
	}
	return bodies
}

// Revoke revokes a sub-key and gives the locks that became free.
func (ws *Workspace) Revoke(t testing.TB, a Agent) []string {
	t.Helper()
	return ws.Owner.OK(t, "revoke_subkey", Args{"subkey_id": a.ID}).Texts("released_locks")
}

// Balance is the workspace's balance in units.
func (ws *Workspace) Balance(t testing.TB) int64 {
	t.Helper()
	return ws.Owner.OK(t, "get_workspace", nil).Int("deposit_balance")
}
