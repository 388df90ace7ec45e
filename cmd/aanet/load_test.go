package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load is agents that append to one file without pause, half of them over REST and half over MCP. Each piece is
// told apart, so that what is stored can be held against what was answered.
type load struct {
	t        *testing.T
	url      atomic.Value // where the service is now; "" is nowhere, and nobody calls
	ws, key  string
	stopping atomic.Bool
	agents   sync.WaitGroup

	mu          sync.Mutex
	acked       []string
	unavailable int // answers that the service cannot take the call now
	lost        int // calls without an answer
}

// newLoad makes the workspace and lets the agents begin.
func newLoad(t *testing.T, p *proc, dsn string, agents int) *load {
	t.Helper()
	l := &load{t: t}
	l.url.Store(p.url)
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"load"}`)
	l.ws, l.key = made.string("workspace_id"), made.string("owner_key")
	operates(t, []string{"DATABASE_URL=" + dsn}, "operator", "credit", l.ws, "10000000", "--reason", "load")
	for i := range agents {
		l.agents.Go(func() {
			for j := 0; !l.stopping.Load(); j++ {
				l.append(i, fmt.Sprintf("<%d-%d>", i, j))
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) stop() {
	l.stopping.Store(true)
	l.agents.Wait()
}

func (l *load) append(agent int, piece string) {
	url := l.url.Load().(string)
	if url == "" { // its port may be somebody else's by now
		time.Sleep(5 * time.Millisecond)
		return
	}
	var r reply
	if agent%2 == 0 {
		r = ask(l.t, url, "POST", "/v1/workspaces/"+l.ws+"/files/log", l.key, `{"content":"`+piece+`"}`)
	} else {
		r = tool(l.t, url, "aanet_append_file", l.key, `{"path":"log","content":"`+piece+`"}`)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.status == 200 || r.status == 201:
		l.acked = append(l.acked, piece)
		return
	case r.status == 0:
		l.lost++
	case r.string("code") == "UNAVAILABLE" && r.int("retry_after") > 0 && (agent%2 == 1 || r.header.Get("Retry-After") != ""):
		l.unavailable++
	default:
		l.t.Errorf("agent %d is answered %d %s", agent, r.status, r.text)
	}
	time.Sleep(5 * time.Millisecond) // or the agents would only try again
}

// tool calls a tool; the status of a refusal is that of its problem object.
func tool(t *testing.T, url, name, key, arguments string) reply {
	t.Helper()
	r := ask(t, url, "POST", "/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
	if r.status != 200 {
		return r
	}
	var message struct {
		Result struct {
			Content []struct{ Text string } `json:"content"`
			IsError bool                    `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.text), &message); err != nil || len(message.Result.Content) != 1 {
		t.Errorf("%s: %s is no result (%v)", name, r.text, err)
		return reply{status: 500}
	}
	r.text, r.body = message.Result.Content[0].Text, nil
	_ = json.Unmarshal([]byte(r.text), &r.body)
	if message.Result.IsError {
		r.status = int(r.int("status"))
	}
	return r
}

// count gives how many calls ended in each way so far.
func (l *load) count() (acked, unavailable, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked), l.unavailable, l.lost
}

// settled lets so many more calls succeed.
func (l *load) settled(more int) {
	l.t.Helper()
	before, _, _ := l.count()
	eventually(l.t, "calls to succeed", func() bool { acked, _, _ := l.count(); return acked >= before+more })
}

var pieces = regexp.MustCompile(`<[^>]*>`)

// check stops the agents and finds that what was answered is stored, and that what is stored is logged and paid
// for, each piece once and whole. It gives how many pieces are stored that nobody was told of.
func (l *load) check(dsn string) (untold int) {
	l.t.Helper()
	l.stop()
	url := l.url.Load().(string)
	at := "/v1/workspaces/" + l.ws
	spent := must(l.t, url, "GET", at, l.key, "").int("total_spent")
	text := must(l.t, url, "GET", at+"/files/log", l.key, "").string("content")
	stored := map[string]int{}
	for _, piece := range pieces.FindAllString(text, -1) {
		if stored[piece]++; stored[piece] > 1 {
			l.t.Errorf("%s is stored %d times", piece, stored[piece])
		}
	}
	if rest := pieces.ReplaceAllString(text, ""); rest != "" {
		l.t.Errorf("torn pieces are stored: %.100q", rest)
	}
	for _, piece := range l.acked {
		if stored[piece] == 0 {
			l.t.Errorf("%s was answered OK and is not stored", piece)
		}
	}
	logged := 0
	for _, row := range must(l.t, url, "GET", at+"/activity/summary?group_by=operation", l.key, "").body["result"].([]any) {
		if row := row.(map[string]any); row["operation"] == "APPEND_FILE" {
			logged = int(row["total_cost"].(float64)) / 10
		}
	}
	if logged != len(stored) || spent != int64(10*len(stored)) {
		l.t.Errorf("%d pieces are stored, %d are logged and %d units spent", len(stored), logged, spent)
	}
	if out := operates(l.t, []string{"DATABASE_URL=" + dsn}, "verify", "ledger"); !strings.Contains(out, " 0 differences") {
		l.t.Errorf("verify ledger prints %q", out)
	}
	if len(l.acked) == 0 {
		l.t.Error("no call succeeded")
	}
	return len(stored) - len(l.acked)
}
