package api_test

import (
	"flag"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"aanet/api/apitest"
)

// player plays random calls on the service and on the model and compares every answer.
type player struct {
	*model
	t  *testing.T
	ws *apitest.Workspace
	rt *rapid.T
}

var (
	playedPaths    = rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a!", "b", "b/c"})
	playedLocks    = rapid.SampledFrom([]string{"a", "a/b", "b"})
	playedContents = rapid.SampledFrom([]string{"", "x", "é", strings.Repeat("y", 1500), strings.Repeat("z", 5000)})
	playedScopes   = rapid.SampledFrom([]string{"a", "a/b", "b"})
)

func TestServiceKeepsToItsModel(t *testing.T) {
	t.Parallel()
	world := apitest.New(t, apitest.Options{})
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("25"); err != nil { // a check is some 50 calls of the database
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		funds := rapid.Int64Range(0, 600).Draw(rt, "funds")
		ws := world.Workspace(t, funds)
		m := &model{files: map[string]*modelFile{}, locks: map[string]*modelLock{}, balance: funds}
		m.keys = append(m.keys, &modelKey{agent: ws.Owner})
		for range 3 {
			m.keys = append(m.keys, &modelKey{agent: ws.Mint(t)})
		}
		p := player{m, t, ws, rt}
		rt.Repeat(map[string]func(*rapid.T){
			"write": p.write, "append": p.append, "delete": p.delete, "read": p.read, "acquire": p.acquire, "renew": p.renew, "release": p.release,
			"update": p.update, "revoke": p.revoke, "credit": p.credit,
		})
		p.compare()
	})
}

// call makes a call with a random key and gives the answer.
func (p player) call(rt *rapid.T, tool string, in args) (key int, r apitest.Reply) {
	key = rapid.IntRange(0, len(p.keys)-1).Draw(rt, "key")
	return key, p.keys[key].agent.Call(p.t, tool, in)
}

// due holds an answer to the model's word.
func (p player) due(rt *rapid.T, key int, r apitest.Reply, code string) {
	if r.Code != code {
		rt.Fatalf("answered %d %q, due was %q", r.Status, r.Code, code)
	}
	if r.Cost != p.price {
		rt.Fatalf("cost %d, due were %d", r.Cost, p.price)
	}
	if code == "UNAUTHENTICATED" {
		return
	}
	if r.Remaining == nil || *r.Remaining != p.remaining(key) {
		rt.Fatalf("told that %v units remain, due were %d", r.Remaining, p.remaining(key))
	}
}

// condition draws an if_match: none, the file's etag, or a stale one.
func (p player) condition(rt *rapid.T, path string, in args) string {
	etag := ""
	switch rapid.IntRange(0, 3).Draw(rt, "condition") {
	case 2:
		if f := p.files[path]; f != nil {
			etag = f.etag
		}
	case 3:
		etag = "stale"
	}
	if etag != "" {
		in["if_match"] = etag
	}
	return etag
}

func (p player) write(rt *rapid.T) {
	path, content := playedPaths.Draw(rt, "path"), playedContents.Draw(rt, "content")
	in := args{"path": path, "content": content}
	ifMatch := p.condition(rt, path, in)
	isNew := p.files[path] == nil
	key, r := p.call(rt, "write_file", in)
	p.due(rt, key, r, p.model.write(key, path, content, ifMatch, r.Text("etag")))
	if r.Code == "" && r.Body["created"] != any(isNew) {
		rt.Fatalf("created is %v", r.Body["created"])
	}
}

func (p player) append(rt *rapid.T) {
	path, content := playedPaths.Draw(rt, "path"), playedContents.Draw(rt, "content")
	in := args{"path": path, "content": content}
	ifMatch := p.condition(rt, path, in)
	key, r := p.call(rt, "append_file", in)
	p.due(rt, key, r, p.model.append(key, path, content, ifMatch, r.Text("etag")))
}

func (p player) delete(rt *rapid.T) {
	path := playedPaths.Draw(rt, "path")
	in := args{"path": path}
	ifMatch := p.condition(rt, path, in)
	key, r := p.call(rt, "delete_file", in)
	p.due(rt, key, r, p.model.delete(key, path, ifMatch))
}

func (p player) read(rt *rapid.T) {
	path := playedPaths.Draw(rt, "path")
	key, r := p.call(rt, "read_file", args{"path": path})
	p.due(rt, key, r, p.model.read(key, path))
	if f := p.files[path]; r.Code == "" && f != nil && (r.Text("content") != f.content || r.Text("etag") != f.etag) {
		rt.Fatalf("read %d bytes with etag %s, due were %d with %s", len(r.Text("content")), r.Text("etag"), len(f.content), f.etag)
	}
}

func (p player) acquire(rt *rapid.T) {
	name := playedLocks.Draw(rt, "lock")
	before := p.lock(name).holder
	key, r := p.call(rt, "acquire_lock", lockArgs(name, 3600))
	p.due(rt, key, r, p.model.acquire(key, name))
	if r.Code == "" && (r.Int("fencing_token") != p.lock(name).token || r.Body["reacquired"] != any(before == key)) {
		rt.Fatalf("acquired as %v, due was token %d", r.Body, p.lock(name).token)
	}
}

func (p player) renew(rt *rapid.T) {
	name := playedLocks.Draw(rt, "lock")
	key, r := p.call(rt, "renew_lock", lockArgs(name, 3600))
	p.due(rt, key, r, p.model.renew(key, name))
}

func (p player) release(rt *rapid.T) {
	name := playedLocks.Draw(rt, "lock")
	key, r := p.call(rt, "release_lock", args{"name": name})
	p.due(rt, key, r, p.model.release(key, name))
}

func (p player) update(rt *rapid.T) {
	k := p.keys[rapid.IntRange(1, len(p.keys)-1).Draw(rt, "updated")]
	limit, scope := rapid.Int64Range(1, 200).Draw(rt, "cap"), playedScopes.Draw(rt, "scope")
	in := args{"subkey_id": k.agent.ID, "budget_cap": limit}
	if rapid.Bool().Draw(rt, "narrow") {
		in = args{"subkey_id": k.agent.ID, "path_scope_prefix": scope}
		limit = k.limit
	} else {
		scope = k.scope
	}
	r := p.ws.Owner.Call(p.t, "update_subkey", in)
	if want := map[bool]string{true: "SUBKEY_REVOKED", false: ""}[k.revoked]; r.Code != want {
		rt.Fatalf("update answered %q, due was %q", r.Code, want)
	}
	if !k.revoked {
		k.limit, k.scope = limit, scope
	}
}

func (p player) revoke(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "mercy") > 0 {
		return
	}
	key := rapid.IntRange(1, len(p.keys)-1).Draw(rt, "revoked")
	freed := p.ws.Revoke(p.t, p.keys[key].agent)
	if want := p.model.revoke(key); len(freed) != want {
		rt.Fatalf("revoking freed %v, due were %d locks", freed, want)
	}
}

func (p player) credit(rt *rapid.T) {
	units := rapid.Int64Range(1, 100).Draw(rt, "units")
	p.ws.Credit(p.t, units)
	p.balance += units
}

// compare reads everything at the end.
func (p player) compare() {
	p.ws.CheckLedger(p.t)
	if balance := p.ws.Balance(p.t); balance != p.balance {
		p.rt.Fatalf("the balance is %d, due were %d", balance, p.balance)
	}
	p.ws.Credit(p.t, 100)
	for path, f := range p.files {
		if got := p.ws.Owner.Read(p.t, path); got != f.content {
			p.rt.Fatalf("%s has %d bytes, due were %d", path, len(got), len(f.content))
		}
	}
	held := map[string]int64{}
	for _, row := range p.ws.Owner.OK(p.t, "list_locks", nil).Rows() {
		name, _ := row["name"].(string)
		held[name] = apitest.Int(row["fencing_token"])
	}
	for name, l := range p.locks {
		if token, ok := held[name]; ok != (l.holder >= 0) || ok && token != l.token {
			p.rt.Fatalf("lock %s is held: %v with token %d, due was holder %d, token %d", name, ok, token, l.holder, l.token)
		}
	}
}
