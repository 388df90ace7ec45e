package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/mcp"
)

func TestPanicsAreAnsweredAndLoggedOnce(t *testing.T) {
	w := newWorld(t)
	key := w.owner
	// A door without a service panics at each call.
	server := httptest.NewServer(mcp.New(nil, mcp.Options{Log: slog.New(slog.NewTextHandler(w.log, nil))}))
	t.Cleanup(server.Close)
	w.url = server.URL

	for range 2 { // the process lives on
		before := len(w.log.String())
		o := w.call(key, "aanet_get_workspace", `{}`)
		p := o.refused(t)
		if p.Code != api.Internal || p.Status != 500 || strings.Contains(p.Detail, "nil pointer") {
			t.Errorf("%+v", p)
		}
		log := w.log.String()[before:]
		if strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "stack=") || !strings.Contains(log, o.Result.Meta["aanet/request_id"].(string)) {
			t.Errorf("log: %s", log)
		}
		if strings.Contains(log, key) {
			t.Error("the key is in the log")
		}
	}
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+key)
	if o := parse(t, r); o.Error == nil || o.Error.Code != -32603 {
		t.Errorf("list: %d %s", r.status, r.body)
	}
}

// hostile are values that no argument should come to grief over.
var hostile = []string{
	`""`, `"x"`, `null`, `true`, `0`, `-1`, `1.5`, `1e400`, `9223372036854775808`, `[]`, `{}`, `["x"]`, `[[[]]]`,
	`"\u0000"`, `"../../etc"`, `"%2e%2e"`, `"'; drop table keys; --"`, `"` + strings.Repeat("é", 3000) + `"`, `"\ud83d\ude00"`, `"infinity"`,
	`"00000000-0000-0000-0000-000000000000"`, `"{00000000-0000-0000-0000-000000000000}"`,
}

// TestHostileArguments calls every tool with one hostile value in each argument, and all arguments at once.
func TestHostileArguments(t *testing.T) {
	w := newWorld(t)
	calls := 0
	check := func(tool, arguments string) {
		calls++
		r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`, "Authorization: Bearer "+w.owner)
		o := parse(t, r)
		if r.status != 200 || o.Error != nil {
			t.Fatalf("%s %s: HTTP %d %s", tool, arguments, r.status, r.body)
		}
		if o.Result.IsError {
			if p := o.refused(t); p.Status >= 500 {
				t.Errorf("%s %.200s: %+v", tool, arguments, p)
			}
		}
	}
	for _, op := range api.Tools() {
		if op.Name == "delete_workspace" { // it has no arguments, and the rest needs the workspace
			continue
		}
		for _, value := range hostile {
			var all []string
			for i := range op.In.Fields {
				all = append(all, fmt.Sprintf("%q:%s", op.In.Fields[i].Name, value))
				check(op.Tool(), fmt.Sprintf(`{%q:%s}`, op.In.Fields[i].Name, value))
			}
			check(op.Tool(), "{"+strings.Join(all, ",")+"}")
			for _, name := range []string{"api_key", "workspace_id", "unknown"} {
				check(op.Tool(), fmt.Sprintf(`{%q:%s}`, name, value))
			}
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls", calls)
	}
	if strings.Contains(w.log.String(), "ERROR") {
		t.Errorf("log: %.2000s", w.log.String())
	}
}

// TestAClientThatLeftEndsItsCall makes a call that waits for a database that never answers, and leaves. The SDK ends
// the calls of clients that left for the newest protocol only.
func TestAClientThatLeftEndsItsCall(t *testing.T) {
	w := newWorld(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	w.serve(w.open("postgres://nobody@" + silent.Addr().String() + "/none?sslmode=disable"))

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() { // leaves as soon as the call waits for the database
		defer leave()
		if connection, err := silent.Accept(); err == nil {
			t.Cleanup(func() { connection.Close() })
		}
	}()
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_get_workspace","arguments":{}}}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.owner)
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
		t.Fatalf("answered with %d", answer.StatusCode)
	}
	for wait := time.Duration(0); w.counted("get_workspace", "499") == 0; wait += 10 * time.Millisecond {
		if wait > time.Minute {
			t.Fatal("the call goes on without its client")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if log := w.log.String(); strings.Contains(log, "ERROR") {
		t.Errorf("log: %s", log)
	}
}

func TestCallsAreCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.call(w.subkey, "aanet_get_workspace", `{}`)
	w.call(w.subkey, "aanet_get_activity", `{}`)
	w.post("{")
	for _, test := range []struct {
		operation, status string
		want              float64
	}{
		{"create_trial_workspace", "201", 1}, {"get_workspace", "200", 1}, {"get_activity", "403", 1}, {"protocol", "400", 1}, {"protocol", "200", 0},
	} {
		if got := w.counted(test.operation, test.status); got != test.want {
			t.Errorf("%s %s: %v, want %v", test.operation, test.status, got, test.want)
		}
	}
}
