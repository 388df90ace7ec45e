package webhooks

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"aanet/store"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
)

var (
	testWorkspace = uuid.MustParse("0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")
	testKey       = uuid.MustParse("0193a1b2-0000-7000-8000-000000000001")
	testWebhook   = uuid.MustParse("0193a1b2-0000-7000-8000-000000000002")
)

// samples are one event of each kind, with the body that version 1 gives it for good.
func samples() []struct {
	event store.Event
	body  string
} {
	at := time.Date(2026, 11, 30, 12, 0, 0, 1000, time.UTC)
	e := func(operation string, path string) store.Event {
		return store.Event{Workspace: testWorkspace, Seq: 42, TS: at, Operation: operation, Subkey: &testKey, Path: &path}
	}
	written := e("PUT_FILE", `notes/é <b>&"\.md`)
	written.ETag = new("16")
	appended := e("APPEND_FILE", "log")
	appended.ETag, appended.Subkey, appended.TS = new("17"), nil, at.In(time.FixedZone("", 3600))
	direct := e("SEND_MESSAGE", "a topic")
	direct.Message, direct.Recipient = &testWebhook, &testKey
	broadcast := e("SEND_MESSAGE", "")
	broadcast.Message, broadcast.Path = &testWebhook, nil
	low := e("BALANCE_LOW", testWebhook.String())
	low.ETag = new("95/100")
	const head = `{"id":"evt_0193a1b2c3d47e5f8a9b0c1d2e3f4a5b_42","type":"`
	const tail = `","workspace_id":"0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b","seq":42,"ts":"2026-11-30T12:00:00.000001Z","subkey_id":`
	const key = `"0193a1b2-0000-7000-8000-000000000001"`
	const id = `"0193a1b2-0000-7000-8000-000000000002"`
	return []struct {
		event store.Event
		body  string
	}{
		{written, head + "file_write" + tail + key + `,"path":"notes/é <b>&\"\\.md","etag":"16"}`},
		{appended, head + "file_write" + tail + `null,"path":"log","etag":"17"}`},
		{e("DELETE_FILE", "a/b"), head + "file_delete" + tail + key + `,"path":"a/b"}`},
		{e("LOCK_RELEASE", "https://x/y"), head + "lock_available" + tail + key + `,"lock_name":"https://x/y"}`},
		{direct, head + "message" + tail + key + `,"message_id":` + id + `,"to_subkey_id":` + key + `}`},
		{broadcast, head + "message" + tail + key + `,"message_id":` + id + `,"to_subkey_id":null}`},
		{low, head + "balance_low" + tail + key + `,"webhook_id":` + id + `,"balance":95,"balance_low_units":100}`},
		{e("PING_WEBHOOK", testWebhook.String()), head + "ping" + tail + key + `,"webhook_id":` + id + `}`},
	}
}

func TestBodiesOfVersion1NeverChange(t *testing.T) {
	for _, s := range samples() {
		for range 2 {
			kind, body, err := Render(1, s.event)
			if err != nil || string(body) != s.body || !strings.Contains(s.body, `"type":"`+kind+`"`) {
				t.Errorf("%s: %v\n got %s\nwant %s", kind, err, body, s.body)
			}
		}
	}
}

func TestWhatIsNoEventHasNoBody(t *testing.T) {
	read := store.Event{Workspace: testWorkspace, Seq: 1, Operation: "GET_FILE"}
	if _, _, err := Render(1, read); err == nil {
		t.Error("a read was rendered")
	}
	if _, _, err := Render(2, samples()[0].event); err == nil {
		t.Error("an unknown version was rendered")
	}
}

// documented gives the block of the page's source that follows a marker.
func documented(t *testing.T, marker, language string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "<!-- "+marker+" -->\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("docs/webhooks.md has no block %s", marker)
	}
	return block
}

func TestBodiesFitTheDocumentedSchema(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(documented(t, "schema", "json")), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples() {
		var body map[string]any
		if err := json.Unmarshal([]byte(s.body), &body); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(body); err != nil {
			t.Errorf("%s: %v", s.body, err)
		}
		body["content"] = "x"
		if resolved.Validate(body) == nil {
			t.Errorf("the schema takes %v", body)
		}
	}
}
