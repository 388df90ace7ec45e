package api_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/store/storetest"
)

func TestIdempotency(t *testing.T) {
	play(t, reachable(),
		scene{"fifty repeats of each operation", fiftyRepeats},
		scene{"a repeat is the first answer", firstAnswer},
		scene{"another call under the same key", otherCall},
		scene{"refusals are not kept", refusalsAreNotKept},
		scene{"whose a key is", whoseKey},
		scene{"a day later", aDayLater},
		scene{"the order of refusals", repeatsInOrder},
		scene{"keys that are none", wrongIdempotencyKeys},
		scene{"kept secrets are encrypted", keptSecrets},
	)
}

// repeatable is one call of an operation that can be repeated under a key.
type repeatable struct {
	tool string
	who  apitest.Agent
	in   args
	rows int // that it writes into the log
}

// repeatables are all of them, each with something to do. Money has its own stories.
func repeatables(t *testing.T, ws *apitest.Workspace) []repeatable {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Write(t, "old", "x")
	a.Write(t, "doomed", "x")
	a.Acquire(t, "held", 60)
	a.Acquire(t, "freed", 60)
	b.Acquire(t, "revoked", 60)
	hook, dead, pinged := registered(t, ws), registered(t, ws), registered(t, ws)
	all := []repeatable{
		{"write_file", a, args{"path": "f", "content": "x"}, 1},
		{"append_file", a, args{"path": "old", "content": "y"}, 1},
		{"delete_file", a, args{"path": "doomed"}, 1},
		{"acquire_lock", a, lockArgs("new", 60), 1},
		{"renew_lock", a, lockArgs("held", 90), 1},
		{"release_lock", a, args{"name": "freed"}, 1},
		{"send_message", a, args{"body": "hello"}, 1},
		{"submit_feedback", a, args{"category": "bug", "title": "t", "description": "d", "pledged_budget_usd": "1"}, 1},
		{"mint_subkey", ws.Owner, args{"label": "l"}, 1},
		{"update_subkey", ws.Owner, args{"subkey_id": a.ID, "budget_cap": 100_000, "spend_limit_per_day": 50_000}, 1},
		{"rotate_key", ws.Owner, args{"subkey_id": a.ID}, 1},
		{"revoke_subkey", ws.Owner, args{"subkey_id": b.ID}, 2},
		{"register_webhook", ws.Owner, args{"url": hookURL, "events": []string{"message"}}, 1},
		{"delete_webhook", ws.Owner, args{"webhook_id": dead}, 1},
		{"ping_webhook", ws.Owner, args{"webhook_id": pinged}, 1},
		{"enable_webhook", ws.Owner, args{"webhook_id": hook}, 1},
		{"rotate_webhook_secret", ws.Owner, args{"webhook_id": hook}, 1},
		{"redeliver_events", ws.Owner, args{"webhook_id": hook, "since": ws.Last(t).TS}, 1},
	}
	there := map[string]bool{"deposit": true, "request_refund": true}
	for _, r := range all {
		there[r.tool] = true
	}
	for _, op := range api.Operations() {
		if op.TakesIdempotencyKey() && !there[op.Name] {
			t.Errorf("%s takes a key and is not repeated here", op.Name)
		}
	}
	return all
}

func with(in args, key string) args {
	all := args{"idempotency_key": key}
	for name, value := range in {
		all[name] = value
	}
	return all
}

func fiftyRepeats(t *testing.T, ws *apitest.Workspace) {
	for _, r := range repeatables(t, ws) {
		before, spent := len(ws.Log(t)), ws.Balance(t)
		answers := make([]apitest.Reply, 50)
		apitest.Together(len(answers), func(i int) {
			answers[i] = r.who.OK(t, r.tool, with(r.in, "key of "+r.tool))
		})
		firsts, cost := 0, int64(0)
		for _, answer := range answers {
			cost += answer.Cost
			if !answer.Replayed {
				firsts++
			} else if answer.Cost != 0 {
				t.Errorf("%s: a repeat cost %d", r.tool, answer.Cost)
			}
			if !reflect.DeepEqual(answer.Body, answers[0].Body) || answer.Status != answers[0].Status {
				t.Errorf("%s: %d %v and %d %v", r.tool, answer.Status, answer.Body, answers[0].Status, answers[0].Body)
			}
		}
		same(t, r.tool+": done", firsts, 1)
		same(t, r.tool+": charged", spent-ws.Balance(t), cost)
		same(t, r.tool+": rows", len(ws.Log(t))-before, r.rows)
	}
	same(t, "appended once", ws.Owner.Read(t, "old"), "xy")
	same(t, "sent once", fmt.Sprint(ws.Owner.Inbox(t, nil)), "[hello]")
}

func firstAnswer(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	in := with(args{"path": "f", "content": "one"}, "k")
	first := a.Costs(t, 10, "write_file", in)
	same(t, "the first is none", first.Replayed, false)
	same(t, "status", first.Status, 201)
	a.Write(t, "f", "two")
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 20})
	rows := len(ws.Log(t))
	repeat := a.Costs(t, 0, "write_file", in)
	same(t, "replayed", repeat.Replayed, true)
	same(t, "the same etag, although it is no longer so", repeat.Text("etag"), first.Text("etag"))
	same(t, "created, although it was there", repeat.Body["created"], any(true))
	same(t, "status", repeat.Status, 201)
	same(t, "remaining is of now", *repeat.Remaining, 0)
	same(t, "content", ws.Owner.Read(t, "f"), "two")
	same(t, "rows", len(ws.Log(t))-rows, 1) // of the owner's read
	// The same input, written otherwise.
	same(t, "defaults", a.OK(t, "write_file", with(args{"content": "one", "path": "f", "stamp": false, "if_match": nil, "lock_name": nil}, "k")).Replayed, true)
	etag := ws.Owner.Write(t, "g", "one")
	ws.Owner.OK(t, "append_file", with(args{"path": "g", "content": "x", "if_match": etag}, "e"))
	same(t, "an etag in quotes", ws.Owner.OK(t, "append_file", with(args{"path": "g", "content": "x", "if_match": `"` + etag + `"`}, "e")).Replayed, true)
	ws.Owner.OK(t, "mint_subkey", with(args{"label": "l", "path_scope_prefix": "notes"}, "s"))
	same(t, "a scope with its slash", ws.Owner.OK(t, "mint_subkey", with(args{"label": "l", "path_scope_prefix": "notes/"}, "s")).Replayed, true)
	same(t, "reads", ws.Owner.OK(t, "get_workspace", nil).Replayed, false)
}

func otherCall(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	a.OK(t, "write_file", with(args{"path": "f", "content": "one"}, "k"))
	for _, other := range []args{{"path": "f", "content": "two"}, {"path": "g", "content": "one"}, {"path": "f", "content": "one", "stamp": true}} {
		a.Refused(t, "IDEMPOTENCY_CONFLICT", "write_file", with(other, "k"))
	}
	a.Refused(t, "IDEMPOTENCY_CONFLICT", "append_file", with(args{"path": "f", "content": "one"}, "k"))
	same(t, "logged", ws.Last(t).Status, "IDEMPOTENCY_CONFLICT")
	same(t, "the first is still kept", a.OK(t, "write_file", with(args{"path": "f", "content": "one"}, "k")).Replayed, true)
	same(t, "another key", a.OK(t, "write_file", with(args{"path": "f", "content": "two"}, "K")).Replayed, false)
	same(t, "content", a.Read(t, "f"), "two")
}

func refusalsAreNotKept(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	b.Acquire(t, "l", 60)
	in := with(lockArgs("l", 60), "k")
	a.Refused(t, "LOCK_HELD", "acquire_lock", in)
	a.Refused(t, "NOT_FOUND", "delete_file", with(args{"path": "none"}, "k"))
	b.OK(t, "release_lock", args{"name": "l"})
	got := a.OK(t, "acquire_lock", in)
	same(t, "done now", got.Replayed, false)
	a.OK(t, "release_lock", args{"name": "l"})
	again := a.OK(t, "acquire_lock", in)
	same(t, "and kept", again.Replayed, true)
	same(t, "lease", again.Text("lease_expires_at"), got.Text("lease_expires_at"))
	same(t, "it is not taken again", a.OK(t, "get_lock_status", args{"name": "l"}).Text("status"), "free")
}

func whoseKey(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	in := with(args{"path": "log", "content": "x"}, "k")
	for _, who := range []apitest.Agent{a, b, ws.Owner} {
		same(t, "each has its own keys", who.OK(t, "append_file", in).Replayed, false)
	}
	other := ws.World.Workspace(t, 100)
	same(t, "each workspace too", other.Owner.OK(t, "append_file", in).Replayed, false)
	a.Key = ws.Owner.OK(t, "rotate_key", args{"subkey_id": a.ID}).Text("key")
	same(t, "a rotated key is the same holder's", a.OK(t, "append_file", in).Replayed, true)
	ws.Owner.OK(t, "revoke_subkey", args{"subkey_id": a.ID})
	a.Refused(t, "UNAUTHENTICATED", "append_file", in)
	same(t, "content", b.Read(t, "log"), "xxx")
}

func aDayLater(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	in := with(args{"path": "log", "content": "x"}, "k")
	first := a.OK(t, "append_file", in)
	same(t, "within a day", a.On(ws.Later(t, 24*time.Hour-10*time.Minute)).OK(t, "append_file", in).Replayed, true)
	late := ws.Later(t, 24*time.Hour+time.Minute)
	second := a.On(late).OK(t, "append_file", in)
	same(t, "after it", second.Replayed, false)
	same(t, "the new answer is kept", a.On(late).OK(t, "append_file", in).Text("etag"), second.Text("etag"))
	if first.Text("etag") == second.Text("etag") {
		t.Error("the second append made no new version")
	}
	same(t, "other input is no conflict any more",
		a.On(ws.Later(t, 50*time.Hour)).OK(t, "append_file", with(args{"path": "log", "content": "y"}, "k")).Replayed, false)
	same(t, "content", a.Read(t, "log"), "xxy")
}

func repeatsInOrder(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "in", "budget_cap": 10})
	in := with(args{"path": "in/f", "content": "x"}, "k")
	a.OK(t, "write_file", in)
	same(t, "a repeat needs no money", a.OK(t, "write_file", in).Replayed, true)
	a.Refused(t, "BUDGET_EXCEEDED", "write_file", with(args{"path": "in/f", "content": "x"}, "other"))
	a.Refused(t, "IDEMPOTENCY_CONFLICT", "write_file", with(args{"path": "in/f/g", "content": "x"}, "k"))
	a.Refused(t, "SCOPE_DENIED", "write_file", with(args{"path": "out", "content": "y"}, "k"))
	a.Refused(t, "INVALID_ARGUMENT", "write_file", with(args{"path": "in/../f", "content": "x"}, "k"))
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "path_scope_prefix": "elsewhere"})
	a.Refused(t, "SCOPE_DENIED", "write_file", in)
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "clear": []string{"path_scope_prefix"}})
	ws.Block(t, true)
	a.Refused(t, "WORKSPACE_BLOCKED", "write_file", in)
	ws.Block(t, false)
	same(t, "and again", a.OK(t, "write_file", in).Replayed, true)
}

func wrongIdempotencyKeys(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	for _, wrong := range []string{"", strings.Repeat("k", 256), "é", "a\tb"} {
		a.Refused(t, "INVALID_ARGUMENT", "write_file", with(args{"path": "f", "content": "x"}, wrong))
	}
	longest := strings.Repeat("~ \"\\", 63) + "end"
	same(t, "length", len(longest), 255)
	for i := range 2 {
		same(t, "the longest key", a.OK(t, "write_file", with(args{"path": "f", "content": "x"}, longest)).Replayed, i == 1)
	}
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": "f", "content": "x", "Idempotency_Key": "k"})
}

func keptSecrets(t *testing.T, ws *apitest.Workspace) {
	minted := ws.Owner.OK(t, "mint_subkey", with(args{"label": "l"}, "k"))
	hook := ws.Owner.OK(t, "register_webhook", with(args{"url": hookURL, "events": []string{"message"}}, "h"))
	again := ws.Owner.OK(t, "mint_subkey", with(args{"label": "l"}, "k"))
	same(t, "key", again.Text("key"), minted.Text("key"))
	kept := storetest.Text(t, ws.DSN, `select string_agg(i::text, ' ') from idempotency_keys i where workspace_id = $1`, ws.ID)
	for _, secret := range []string{minted.Text("key"), hook.Text("secret")} {
		if strings.Contains(kept, secret) || strings.Contains(kept, base64.StdEncoding.EncodeToString([]byte(secret))[:20]) {
			t.Errorf("a secret is kept in the clear: %.200s", kept)
		}
	}
	same(t, "and nothing of it is logged", strings.Contains(fmt.Sprint(ws.Log(t)), minted.Text("key")), false)
}
