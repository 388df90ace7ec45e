package api_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/apitest"
)

// TestDoorsTellTheSame plays one long story of all operations through each door: every answer and every row of
// the log is the same.
func TestDoorsTellTheSame(t *testing.T) {
	t.Parallel()
	told := make([][]line, len(doors))
	t.Run("tell", func(t *testing.T) {
		for i, door := range doors {
			t.Run(door.name, func(t *testing.T) {
				t.Parallel()
				told[i] = tell(t, apitest.New(t, apitest.Options{Door: door.make}))
			})
		}
	})
	if t.Failed() {
		return
	}
	for i, door := range doors[1:] {
		compare(t, door.name, told[i+1], told[0])
	}
	everyOperation(t, told[0])
}

// line is what one call came to, with ids, keys and times replaced by the order in which they came up.
type line struct {
	tool, call, code, body string
	status                 int
	cost                   int64
	remaining              string
}

func compare(t *testing.T, door string, got, want []line) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s tells %d lines, %s %d", door, len(got), doors[0].name, len(want))
	}
	for i := range got {
		if got[i].status == 0 { // a success of a door that has no status
			got[i].status = want[i].status
		}
		if got[i] != want[i] {
			t.Errorf("line %d over %s: %s", i+1, door, difference(fmt.Sprintf("%+v", got[i]), fmt.Sprintf("%+v", want[i])))
		}
	}
}

// difference shows where two long lines part.
func difference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-300)
	return fmt.Sprintf("\n%.400q\ninstead of\n%.400q", got[from:], want[from:])
}

// playedElsewhere are the operations that need a receiver, a facilitator or an operator to play.
var playedElsewhere = regexp.MustCompile(`/(webhooks|deposits|refunds)`)

// everyOperation fails unless each one was played, and unless each that can be refused was.
func everyOperation(t *testing.T, lines []line) {
	t.Helper()
	done, refused := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		done[l.tool] = done[l.tool] || l.code == ""
		refused[l.tool] = refused[l.tool] || l.code != ""
	}
	for _, o := range api.Operations() {
		if playedElsewhere.MatchString(o.Path) {
			continue
		}
		if !done[o.Name] || !refused[o.Name] {
			t.Errorf("%s: played %v, refused %v", o.Name, done[o.Name], refused[o.Name])
		}
	}
}

// teller plays the story and writes down the answers.
type teller struct {
	t     *testing.T
	ws    *apitest.Workspace
	lines []line
	names map[string]string
}

func tell(t *testing.T, world *apitest.World) []line {
	n := &teller{t: t, names: map[string]string{}}
	n.strangers(world)
	n.ws = world.Workspace(t, 5_000)
	n.say(n.ws.Owner, "get_forecast", nil)
	a, b := n.keys()
	n.files(a, b)
	n.appends(a)
	n.locks(a, b)
	n.messages(a, b)
	n.wrongInputs(a)
	n.tenants(a, world.Workspace(t, 100))
	n.money(a)
	n.operators(a)
	n.accounts(a, b)
	n.ws.CheckLedger(t)
	n.endings(a, b, world.Trial(t))
	return n.lines
}

// say makes a call in the agent's workspace and writes the answer down.
func (n *teller) say(a apitest.Agent, tool string, in args) apitest.Reply {
	n.t.Helper()
	return n.write(tool, in, a.Call(n.t, tool, in))
}

// cry makes a call in no workspace with any key.
func (n *teller) cry(world *apitest.World, key, tool string, in args) apitest.Reply {
	n.t.Helper()
	return n.write(tool, in, world.Door.Call(n.t, tool, key, "", in))
}

func (n *teller) write(tool string, in args, r apitest.Reply) apitest.Reply {
	n.t.Helper()
	body, err := json.Marshal(r.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	l := line{
		tool: tool, call: n.plain(fmt.Sprint(in)), code: r.Code, body: n.plain(string(body)), status: r.Status, cost: r.Cost, remaining: "nothing",
	}
	if r.Remaining != nil {
		l.remaining = fmt.Sprint(*r.Remaining)
	}
	n.lines = append(n.lines, l)
	return r
}

var (
	changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|aan_[os]\w+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|\+01:00)`)
	// byChance is where a fault stands in a message, how long a workspace has been there, and the last use of a
	// key, of which free calls tell to the second only.
	byChance = regexp.MustCompile(`\(byte \d+\)|"seconds":\d+|"last_used_at":"[^"]*"`)
)

// plain replaces what differs from one run to the next.
func (n *teller) plain(text string) string {
	text = byChance.ReplaceAllString(text, "…")
	return changing.ReplaceAllStringFunc(text, func(found string) string {
		if n.names[found] == "" {
			n.names[found] = fmt.Sprintf("<%d>", len(n.names)+1)
		}
		return n.names[found]
	})
}

func (n *teller) strangers(world *apitest.World) {
	n.cry(world, "", "get_pricing", nil)
	n.cry(world, "nonsense", "get_pricing", args{"surplus": "x"})
	n.cry(world, "", "estimate_savings", args{"agents": 10, "rounds_per_agent": 20})
	n.cry(world, "", "estimate_savings", args{"agents": 0})
	n.cry(world, "", "create_workspace", args{"label": "<é> & 😀"})
	n.cry(world, "nonsense", "create_workspace", args{"label": ""})
	n.cry(world, "", "create_trial_workspace", nil)
	n.cry(world, "", "create_trial_workspace", args{"label": "x"})
	n.cry(world, "", "get_remaining_balance", nil)
	n.cry(world, "aan_oNone", "submit_feedback", args{"category": "bug"})
}

func (n *teller) keys() (a, b apitest.Agent) {
	owner := n.ws.Owner
	n.say(owner, "list_subkeys", nil)
	made := n.say(owner, "mint_subkey", args{"label": "a", "path_scope_prefix": "work/", "budget_cap": 4_000})
	a = owner
	a.ID, a.Key = made.Text("subkey_id"), made.Text("key")
	b = n.ws.Mint(n.t)
	n.say(a, "mint_subkey", args{"label": "mine"})
	n.say(a, "list_subkeys", nil)
	n.say(owner, "update_subkey", args{"subkey_id": a.ID, "budget_cap": json.RawMessage("3000.0"), "path_scope_prefix": nil})
	n.say(owner, "update_subkey", args{"subkey_id": a.ID, "path_scope_prefix": ""})
	n.say(owner, "update_subkey", args{"subkey_id": uuid.NewString()})
	n.say(owner, "mint_subkey", args{"label": "x\n", "budget_cap": 0, "scope": "secret"})
	n.say(owner, "update_subkey", args{"subkey_id": a.ID, "spend_limit_per_hour": 2_000, "clear": []string{"spend_limit_per_day"}})
	n.say(owner, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 1, "clear": []string{"budget_cap"}})
	n.say(owner, "update_subkey", args{"subkey_id": a.ID, "clear": []string{"label"}})
	n.say(a, "rotate_key", nil)
	for range 2 {
		rotated := n.say(owner, "rotate_key", args{"subkey_id": a.ID, "immediate": true, "idempotency_key": "rotate a"})
		a.Key = rotated.Text("key")
	}
	n.say(owner, "rotate_key", args{"subkey_id": a.ID, "idempotency_key": "rotate a"})
	n.say(owner, "rotate_key", args{"subkey_id": uuid.NewString(), "idempotency_key": "é"})
	n.say(owner, "list_subkeys", nil)
	return a, b
}

func (n *teller) files(a, b apitest.Agent) {
	first := n.say(a, "write_file", args{"path": "work/é and %41.md", "content": "one <two> & \u2028 three"}).Text("etag")
	n.say(a, "write_file", args{"path": "work/é and %41.md", "content": "", "if_match": `"` + first + `"`})
	n.say(a, "write_file", args{"path": "work/é and %41.md", "content": "late", "if_match": first})
	n.say(a, "write_file", args{"path": "work/new", "content": "x", "if_match": first})
	n.say(b, "write_file", args{"path": "work/deep/er/f", "content": strings.Repeat("0123456789", 300), "stamp": true})
	n.say(b, "read_file", args{"path": "work/deep/er/f", "offset": 2_990, "max_bytes": 20})
	n.say(a, "write_file", args{"path": "work/deep", "content": "x"})
	n.say(a, "write_file", args{"path": "work/deep/er/f/x", "content": "x"})
	n.say(a, "write_file", args{"path": "other", "content": "x"})
	n.say(a, "write_file", args{"path": "work/huge", "content": strings.Repeat("x", api.FileBytesMax+1)})
	n.say(a, "read_file", args{"path": "work", "limit": 1})
	n.say(a, "read_file", args{"path": "work", "limit": 1000, "after": "deep/"})
	n.say(a, "read_file", args{"path": ""})
	n.say(b, "read_file", args{"path": "/"})
	n.say(a, "read_file", args{"path": "work/none"})
	n.say(a, "read_file", args{"path": "work//none"})
	n.say(a, "delete_file", args{"path": "work/none"})
	n.say(a, "delete_file", args{"path": "work/deep"})
	n.say(a, "delete_file", args{"path": "work/é and %41.md", "if_match": first})
	n.say(a, "delete_file", args{"path": "work/é and %41.md"})
}

func (n *teller) appends(a apitest.Agent) {
	etag := n.say(a, "append_file", args{"path": "work/log", "content": "one\n"}).Text("etag")
	n.say(a, "append_file", args{"path": "work/log", "content": "two\n", "if_match": etag})
	n.say(a, "append_file", args{"path": "work/log", "content": "late\n", "if_match": etag})
	n.say(a, "append_file", args{"path": "work/log"})
	n.say(a, "append_file", args{"path": "work/log", "content": "end", "stamp": true})
	for range 2 {
		n.say(a, "append_file", args{"path": "work/log", "content": "once\n", "idempotency_key": "one"})
	}
	n.say(a, "append_file", args{"path": "work/log", "content": "fenced", "lock_name": "work/l", "fencing_token": 1})
	n.say(a, "append_file", args{"path": "work/log", "content": "fenced", "lock_name": "work/l"})
	n.say(a, "append_file", args{"path": "work/log", "content": "fenced", "lock_name": "l", "fencing_token": 1})
	n.say(a, "read_file", args{"path": "work/log"})
}

func (n *teller) locks(a, b apitest.Agent) {
	const url = "https://example.com/a?b=c#d"
	n.say(b, "acquire_lock", lockArgs(url, 60))
	n.say(a, "acquire_lock", lockArgs(url, 60))
	n.say(a, "get_lock_status", args{"name": "work/never"})
	n.say(a, "acquire_lock", lockArgs("work/l", json.RawMessage("6e1")))
	n.say(a, "acquire_lock", lockArgs("work/l", 3_600))
	n.say(b, "acquire_lock", lockArgs("work/l", 1))
	n.say(b, "renew_lock", lockArgs("work/l", 1))
	n.say(b, "release_lock", args{"name": "work/l"})
	n.say(b, "get_lock_status", args{"name": "work/l"})
	n.say(a, "list_locks", nil)
	n.say(b, "list_locks", args{"limit": 1})
	n.say(b, "list_locks", args{"limit": 0})
	n.say(a, "renew_lock", lockArgs("work/l", 30))
	n.say(a, "release_lock", args{"name": "work/l"})
	n.say(a, "renew_lock", lockArgs("work/l", 30))
	n.say(b, "acquire_lock", lockArgs("work/l", 3_601))
	n.say(b, "get_lock_status", args{"name": "a/../b"})
	n.say(b, "get_lock_status", args{"name": "work/l"})
}

func (n *teller) messages(a, b apitest.Agent) {
	since := n.say(a, "send_message", args{"body": "to b", "to_subkey_id": b.ID, "topic": "a + b"}).Text("ts")
	n.say(b, "send_message", args{"body": "<to all>\n", "topic": "a + b"})
	n.say(a, "send_message", args{"body": "x", "to_subkey_id": uuid.Nil.String()})
	n.say(a, "send_message", args{"body": strings.Repeat("x", 4_001)})
	n.say(a, "get_messages", nil)
	n.say(b, "get_messages", args{"topic": "a + b", "limit": 1})
	n.say(b, "get_messages", args{"since": since, "wait_seconds": 1})
	n.say(b, "wait", args{"after": 0, "types": "message,file_write", "wait_seconds": 1})
	n.say(b, "wait", args{"after": 100_000, "path_prefix": "x"})
	n.say(b, "get_messages", args{"since": "yesterday", "limit": 501})
	n.say(n.ws.Owner, "get_messages", args{"since": instant(n.t, since).In(time.FixedZone("", 3600)).Format("2006-01-02T15:04:05.000000-07:00")})
}

// wrongInputs are refused alike by both doors, with the same faults.
func (n *teller) wrongInputs(a apitest.Agent) {
	n.say(a, "write_file", args{"path": "work/f", "content": malformed})
	n.say(a, "write_file", args{"path": "work/f", "content": "a\x00b", "stamp": []int{1}, "surplus": "secret", "if_match": "*"})
	n.say(a, "write_file", args{"path": "work/f", "Content": "x", "content": nil})
	n.say(a, "acquire_lock", lockArgs("work/l", json.RawMessage("1.5")))
	n.say(a, "acquire_lock", lockArgs("work/l", "sixty"))
	n.say(n.ws.Owner, "update_subkey", args{"subkey_id": a.ID, "budget_cap": json.RawMessage("9007199254740993")})
	n.say(a, "get_messages", args{"limit": "ten", "since": "2026-11-30T12:00:00"})
	n.say(a, "get_remaining_balance", args{"verbose": true})
	n.say(a, "submit_feedback", args{"category": "BUG", "title": strings.Repeat("é", 201), "description": "", "pledged_budget_usd": "-1"})
}

func (n *teller) tenants(a apitest.Agent, other *apitest.Workspace) {
	theirs := other.Mint(n.t)
	for _, id := range []string{other.ID, uuid.NewString(), "x", strings.ToUpper(n.ws.ID)} {
		n.write("read_file", nil, a.In(n.t, id, "read_file", args{"path": "work/log"}))
		n.write("get_workspace", nil, n.ws.Owner.In(n.t, id, "get_workspace", nil))
	}
	n.say(n.ws.Owner, "revoke_subkey", args{"subkey_id": theirs.ID})
	n.say(n.ws.Owner, "get_activity", args{"subkey_id": theirs.ID})
	n.say(a, "delete_workspace", nil)
	n.say(other.Owner, "get_activity", nil)
}

func (n *teller) money(a apitest.Agent) {
	n.say(n.ws.Owner, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 1})
	n.say(a, "write_file", args{"path": "work/f", "content": "x"})
	n.say(a, "get_remaining_balance", nil)
	n.say(n.ws.Owner, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 1_000_000})
	for n.ws.Balance(n.t) >= 8+2*1024 {
		n.ws.Owner.Write(n.t, "big", strings.Repeat("x", api.FileBytesMax))
	}
	n.say(a, "write_file", args{"path": "work/f", "content": strings.Repeat("x", api.FileBytesMax)})
	n.say(a, "read_file", args{"path": "work/f"})
	n.ws.Credit(n.t, 3_000)
}

func (n *teller) operators(a apitest.Agent) {
	n.ws.Block(n.t, true)
	n.say(a, "read_file", args{"path": "work/log"})
	n.say(n.ws.Owner, "mint_subkey", args{"label": "x"})
	n.say(n.ws.Owner, "get_workspace", nil)
	n.say(a, "release_lock", args{"name": "work/l"})
	n.ws.Block(n.t, false)
}

func (n *teller) accounts(a, b apitest.Agent) {
	owner := n.ws.Owner
	n.say(a, "submit_feedback", args{"category": "pricing", "title": "t", "description": "<d>", "pledged_budget_usd": "12.50"})
	n.say(a, "get_remaining_balance", nil)
	n.say(owner, "get_remaining_balance", nil)
	n.say(owner, "get_activity_summary", nil)
	n.say(owner, "get_activity_summary", args{"group_by": "subkey"})
	n.say(owner, "get_activity_summary", args{"group_by": "day"})
	n.say(owner, "get_activity", args{"subkey_id": b.ID, "operation": "LOCK_ACQUIRE", "limit": 2})
	n.say(owner, "get_activity", args{"limit": 0, "since": "now"})
	n.say(a, "get_activity", nil)
	n.say(a, "get_forecast", nil)
	n.say(owner, "get_activity", args{"limit": 500})
}

func (n *teller) endings(a, b apitest.Agent, trial *apitest.Workspace) {
	owner := n.ws.Owner
	n.say(owner, "revoke_subkey", args{"subkey_id": b.ID})
	n.say(owner, "revoke_subkey", args{"subkey_id": b.ID})
	n.say(owner, "update_subkey", args{"subkey_id": b.ID, "budget_cap": 5})
	n.say(a, "send_message", args{"body": "x", "to_subkey_id": b.ID})
	n.say(b, "get_messages", nil)
	n.say(owner, "list_subkeys", nil)
	n.say(owner, "get_activity", args{"limit": 20})
	n.say(trial.Owner, "get_workspace", nil)
	n.say(owner, "delete_workspace", args{"force": true})
	n.say(owner, "delete_workspace", nil)
	n.say(owner, "delete_workspace", nil)
	n.say(a, "read_file", args{"path": "work/log"})
}
