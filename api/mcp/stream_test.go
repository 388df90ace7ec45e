package mcp_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"aanet/api/mcp"
)

// callFor is a tool call whose client wants to hear of progress.
func callFor(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{"progressToken":"t1"}}}`
}

// event is one message of a stream.
type event struct {
	Method string
	Params struct {
		ProgressToken string
		Progress      float64
	}
	outcome
}

func nextEvent(t *testing.T, stream *bufio.Scanner) (e event) {
	t.Helper()
	for stream.Scan() {
		if data, ok := strings.CutPrefix(stream.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			return e
		}
	}
	t.Fatalf("the stream ended: %v", stream.Err())
	return e
}

// raw posts a body as a client that undoes no compression by itself.
func (w *world) raw(body string, headers map[string]string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.owner)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	plain := &http.Transport{DisableCompression: true}
	w.t.Cleanup(plain.CloseIdleConnections)
	answer, err := plain.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestACallThatWaitsTellsOfItsProgress(t *testing.T) {
	w := newWorld(t, func(o *mcp.Options) { o.ProgressEvery = 5 * time.Millisecond })
	// The wait ends by the message, which is sent after the third sign of life: nothing depends on how fast all this is.
	answer := w.raw(callFor("aanet_get_messages", `{"topic":"t","wait_seconds":50}`), map[string]string{"Accept": "application/json, text/event-stream"})
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	stream := bufio.NewScanner(answer.Body)
	last := 0.0
	for range 3 {
		e := nextEvent(t, stream)
		if e.Method != "notifications/progress" || e.Params.ProgressToken != "t1" || e.Params.Progress <= last {
			t.Fatalf("after %v: %+v", last, e)
		}
		last = e.Params.Progress
	}
	w.call(w.owner, "aanet_send_message", `{"body":"now","topic":"t"}`).decode(t, &struct{}{})
	for {
		e := nextEvent(t, stream)
		if e.Method == "notifications/progress" {
			continue
		}
		if text := e.text(t); !strings.Contains(text, `"body":"now"`) || e.Result.Meta["aanet/cost"] != 1.0 {
			t.Errorf("%s %v", text, e.Result.Meta)
		}
		break
	}
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 1 {
		t.Errorf("after the result: %q %v", rest, err)
	}
}

func TestAnswersAreJSONUnlessProgressCanBeTold(t *testing.T) {
	w := newWorld(t)
	const both = "application/json, text/event-stream"
	for name, test := range map[string]struct{ body, accept, media string }{
		"progress":                    {callFor("aanet_get_workspace", `{}`), both, "text/event-stream"},
		"progress, a refusal":         {callFor("aanet_get_workspace", `{"x":1}`), both, "text/event-stream"},
		"progress, an unknown tool":   {callFor("aanet_nothing", `{}`), both, "text/event-stream"},
		"progress, only JSON":         {callFor("aanet_get_workspace", `{}`), "application/json", "application/json"},
		"no progress":                 {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_get_workspace","arguments":{}}}`, both, "application/json"},
		"a token that is an argument": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_get_workspace","arguments":{"_meta":{"progressToken":1}}}}`, both, "application/json"},
		"a list":                      {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, both, "application/json"},
	} {
		answer := w.raw(test.body, map[string]string{"Accept": test.accept})
		if media := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || media != test.media {
			t.Errorf("%s: %d %s", name, answer.StatusCode, media)
		}
	}
}

func TestLongAnswersAreCompressed(t *testing.T) {
	w := newWorld(t)
	w.call(w.owner, "aanet_write_file", `{"path":"long","content":"`+strings.Repeat("all work and no play ", 100)+`"}`).decode(t, &struct{}{})
	const list, ping = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, test := range map[string]struct{ body, accept, encoding, holds string }{
		"a list":              {list, "gzip, deflate, br", "gzip", "aanet_read_file"},
		"a short answer":      {ping, "gzip", "", `"result"`},
		"not wanted":          {list, "br", "", "aanet_read_file"},
		"refused":             {list, "gzip;q=0", "", "aanet_read_file"},
		"a result, as events": {callFor("aanet_read_file", `{"path":"long"}`), "gzip", "gzip", "no play"},
		"a refusal":           {"[" + ping + "]", "gzip", "", "batch"},
	} {
		answer := w.raw(test.body, map[string]string{"Accept-Encoding": test.accept, "Accept": "*/*"})
		if got := answer.Header.Get("Content-Encoding"); got != test.encoding || answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: encoding %q, Vary %q", name, got, answer.Header.Get("Vary"))
		}
		body := io.Reader(answer.Body)
		if test.encoding == "gzip" {
			unzipped, err := gzip.NewReader(answer.Body)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			body = unzipped
		}
		if text, err := io.ReadAll(body); err != nil || !strings.Contains(string(text), test.holds) {
			t.Errorf("%s: %v %.200s", name, err, text)
		}
	}
}
