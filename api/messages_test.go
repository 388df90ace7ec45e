package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
)

func TestMessages(t *testing.T) {
	play(t, apitest.Options{},
		scene{"send and get", sendAndGet},
		scene{"who sees what", visibility},
		scene{"since is exclusive", sinceIsExclusive},
		scene{"topics match exactly", topics},
		scene{"how many at once", messageLimits},
		scene{"recipients that are none", badRecipients},
		scene{"bodies", messageBodies},
		scene{"timestamps as input", timestampsIn},
	)
}

func sendAndGet(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	if rows := a.Costs(t, 1, "get_messages", nil).Rows(); rows == nil || len(rows) != 0 {
		t.Errorf("an empty inbox is %v", rows)
	}
	sent := a.Costs(t, 3, "send_message", args{"body": "hello", "to_subkey_id": b.ID, "topic": "greetings"})
	same(t, "status", sent.Status, 201)
	same(t, "ts is the log's", sent.Text("ts"), ws.Last(t).TS)
	cast := ws.Owner.OK(t, "send_message", args{"body": "all"})
	rows := b.OK(t, "get_messages", nil).Rows()
	same(t, "first", fmt.Sprint(rows[0]), fmt.Sprint(map[string]any{
		"message_id": sent.Text("message_id"), "ts": sent.Text("ts"), "from_subkey_id": a.ID, "to_subkey_id": b.ID, "topic": "greetings", "body": "hello",
	}))
	same(t, "second", fmt.Sprint(rows[1]), fmt.Sprint(map[string]any{
		"message_id": cast.Text("message_id"), "ts": cast.Text("ts"), "from_subkey_id": nil, "to_subkey_id": nil, "topic": nil, "body": "all",
	}))
	a.Refused(t, "INVALID_ARGUMENT", "send_message", args{"body": "b", "from_subkey_id": b.ID})
}

func visibility(t *testing.T, ws *apitest.Workspace) {
	a, b, c := ws.Mint(t), ws.Mint(t), ws.Mint(t)
	a.OK(t, "send_message", args{"body": "a to b", "to_subkey_id": b.ID, "topic": "t"})
	ws.Owner.Send(t, "owner to all")
	b.OK(t, "send_message", args{"body": "b to b", "to_subkey_id": b.ID, "topic": "t"})
	a.OK(t, "send_message", args{"body": "a to all", "topic": "t"})
	later := ws.Mint(t)
	for _, x := range []struct {
		who     string
		agent   apitest.Agent
		all, on string
	}{
		{"a", a, "[owner to all a to all]", "[a to all]"},
		{"b", b, "[a to b owner to all b to b a to all]", "[a to b b to b a to all]"},
		{"c", c, "[owner to all a to all]", "[a to all]"},
		{"one minted later", later, "[owner to all a to all]", "[a to all]"},
		{"the owner", ws.Owner, "[a to b owner to all b to b a to all]", "[a to b b to b a to all]"},
	} {
		same(t, x.who, fmt.Sprint(x.agent.Inbox(t, nil)), x.all)
		same(t, x.who+" on the topic", fmt.Sprint(x.agent.Inbox(t, args{"topic": "t"})), x.on)
	}
	ws.Revoke(t, a)
	same(t, "b once a is revoked", len(b.Inbox(t, nil)), 4)
	scoped := ws.MintWith(t, args{"path_scope_prefix": "x"})
	same(t, "a scoped key", len(scoped.Inbox(t, nil)), 2)
	same(t, "the next tenant", len(ws.World.Workspace(t, 10).Owner.Inbox(t, nil)), 0)
}

func sinceIsExclusive(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	var stamps []string
	for i := range 30 {
		stamps = append(stamps, a.Send(t, fmt.Sprint(i)))
	}
	if !slices.IsSorted(stamps) || len(slices.Compact(slices.Clone(stamps))) != 30 {
		t.Errorf("timestamps as strings are not in order: %v", stamps)
	}
	for i, ts := range stamps {
		instant(t, ts)
		later := a.Inbox(t, args{"since": ts})
		same(t, "messages after the "+fmt.Sprint(i)+"th", len(later), 29-i)
		if len(later) > 0 {
			same(t, "the next", later[0], fmt.Sprint(i+1))
		}
		rows := ws.Owner.OK(t, "get_activity", args{"since": ts, "operation": "SEND_MESSAGE"}).Rows()
		same(t, "activity from the "+fmt.Sprint(i)+"th on", len(rows), 30-i)
	}
	moment := instant(t, stamps[9])
	for _, zone := range []int{-7 * 3600, 5*3600 + 1800, 0} {
		since := moment.In(time.FixedZone("", zone)).Format("2006-01-02T15:04:05.000000-07:00")
		same(t, since, len(a.Inbox(t, args{"since": since})), 20)
	}
	same(t, "in lower case", len(a.Inbox(t, args{"since": strings.ToLower(stamps[9])})), 20)
	spaced := moment.In(time.FixedZone("", 3600)).Format("2006-01-02T15:04:05.000000-07:00")
	same(t, "a plus that became a space", len(a.Inbox(t, args{"since": strings.ReplaceAll(spaced, "+", " ")})), 20)
	same(t, "a microsecond before", len(a.Inbox(t, args{"since": moment.Add(-time.Microsecond).Format("2006-01-02T15:04:05.000000Z")})), 21)
}

func timestampsIn(t *testing.T, ws *apitest.Workspace) {
	ws.Owner.Send(t, "m")
	for _, wrong := range []string{
		"", "now", "yesterday", "infinity", "-infinity", "epoch", "1767225600", "1767225600.5", "2026-11-30", "2026-11-30T12:00:00", "2026-11-30 12:00:00Z",
		"0000-01-01T00:00:00Z", "294277-01-01T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T12:00:60Z", "2026-02-30T12:00:00Z", "2026-11-30T12:00:00+25:00",
		"2026-11-30T12:00Z", "20261130T120000Z", "2026-11-30T12:00:00.Z", " 2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z\x00", "9999-12-31T23:59:59-23:59",
		"2026-11-30T12:00:00Europe/Berlin", "2026-W48-1T12:00:00Z",
	} {
		for _, tool := range []string{"get_messages", "get_activity", "get_activity_summary"} {
			ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"since": wrong})
		}
	}
	for since, want := range map[string]int{"0001-01-01T00:00:00Z": 1, "9999-12-31T23:59:59.999999Z": 0, "1969-12-31T23:59:59.9-00:00": 1, "2000-02-29T23:59:59.123456789+14:00": 1} {
		same(t, since, len(ws.Owner.Inbox(t, args{"since": since})), want)
		ws.Owner.OK(t, "get_activity", args{"since": since})
		ws.Owner.OK(t, "get_activity_summary", args{"since": since})
	}
}

func topics(t *testing.T, ws *apitest.Workspace) {
	all := []string{"t", "T", "t ", " t", "t%", "t_", "%", "tx", "é", "e\u0301", "a/b", "'; --", strings.Repeat("x", 255)}
	for _, topic := range all {
		ws.Owner.OK(t, "send_message", args{"body": topic, "topic": topic})
	}
	ws.Owner.Send(t, "without a topic")
	for _, topic := range all {
		same(t, topic, fmt.Sprintf("%q", ws.Owner.Inbox(t, args{"topic": topic})), fmt.Sprintf("%q", []string{topic}))
	}
	same(t, "an unused topic", len(ws.Owner.Inbox(t, args{"topic": "none"})), 0)
	same(t, "any topic", len(ws.Owner.Inbox(t, nil)), len(all)+1)
	for _, wrong := range []string{"", "a\x00", "a\nb", strings.Repeat("é", 128), randomText(10_000)} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "send_message", args{"body": "b", "topic": wrong})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_messages", args{"topic": wrong})
	}
}

func messageLimits(t *testing.T, ws *apitest.Workspace) {
	apitest.Together(11, func(i int) {
		for range 10 {
			ws.Owner.Send(t, "m")
		}
	})
	for limit, want := range map[any]int{nil: 100, 1: 1, 109: 109, 500: 110} {
		same(t, fmt.Sprint("limit ", limit), len(ws.Owner.Inbox(t, args{"limit": limit})), want)
	}
	for _, wrong := range []any{0, -1, 501, 1.5, "", "ten", true} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_messages", args{"limit": wrong})
	}
	since, seen := any(nil), 0
	for range 12 {
		rows := ws.Owner.OK(t, "get_messages", args{"limit": 10, "since": since}).Rows()
		if len(rows) == 0 {
			break
		}
		seen += len(rows)
		since = rows[len(rows)-1]["ts"]
	}
	same(t, "seen page by page", seen, 110)
}

func badRecipients(t *testing.T, ws *apitest.Workspace) {
	other := ws.World.Workspace(t, 0)
	gone := ws.Mint(t)
	ws.Revoke(t, gone)
	before := ws.Balance(t)
	for id, code := range map[string]string{
		uuid.NewString(): "NOT_FOUND", other.Mint(t).ID: "NOT_FOUND", ws.ID: "NOT_FOUND", "x": "NOT_FOUND", strings.ToUpper(gone.ID): "NOT_FOUND", uuid.Nil.String(): "NOT_FOUND",
		"a\x00b": "NOT_FOUND", randomText(10_000): "NOT_FOUND", gone.ID: "SUBKEY_REVOKED", "": "INVALID_ARGUMENT",
	} {
		ws.Owner.Refused(t, code, "send_message", args{"body": "b", "to_subkey_id": id})
	}
	same(t, "balance", ws.Balance(t), before)
	same(t, "messages", len(ws.Owner.Inbox(t, nil)), 0)
}

func messageBodies(t *testing.T, ws *apitest.Workspace) {
	for _, body := range []string{" ", "a\r\n\tb", strings.Repeat("😀", 4000), "<script>", "\u2028", "{\"a\":\"(b,c)\"}\\", "\u0085\x1b"} {
		ws.Owner.Send(t, body)
		bodies := ws.Owner.Inbox(t, nil)
		same(t, "body", bodies[len(bodies)-1], body)
	}
	for _, wrong := range []any{"", nil, 7, "a\x00", strings.Repeat("x", 4001), []string{"a"}} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "send_message", args{"body": wrong})
	}
	ws.Owner.Refused(t, "MALFORMED", "send_message", args{"body": malformed})
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "send_message", nil)
}
