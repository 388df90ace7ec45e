package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"aanet/store"
	"aanet/store/storetest"
)

func TestFigures(t *testing.T) {
	if m := median([]float64{9, 1, 5}); m != 5 {
		t.Errorf("median of three: %v", m)
	}
	if m := median([]float64{1, 3}); m != 2 {
		t.Errorf("median of two: %v", m)
	}
	var latencies []time.Duration
	for i := 100; i > 0; i-- {
		latencies = append(latencies, time.Duration(i)*time.Millisecond)
	}
	f := figureOf(latencies, 2*time.Second)
	if f.ops != 50 || f.p50 != 51 || f.p99 != 100 {
		t.Errorf("100 calls in 2 s: %+v", f)
	}
	// The machine slows down by half from round to round; the one way is always twice as fast.
	m := measured{{{ops: 400}, {ops: 200}, {ops: 100}}, {{ops: 200}, {ops: 100}, {ops: 50}}}
	if r := m.ratio(opsOf, 0, 1); r != 2 || m.of(1).ops != 100 {
		t.Errorf("ratio %v, median %v", r, m.of(1).ops)
	}
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		bound string
		met   bool
	}{{12, atLeast, true}, {11.99, atLeast, false}, {1.3, atMost, false}, {1.2, atMost, true}} {
		goal := map[string]float64{atLeast: 12, atMost: 1.2}[c.bound]
		if r := resultOf("x", figure{}).against(c.ratio, c.bound, goal, ""); *r.Met != c.met {
			t.Errorf("%v %s %v: met is %v", c.ratio, c.bound, goal, *r.Met)
		}
	}
}

func TestReportLines(t *testing.T) {
	var out strings.Builder
	report := &benchReport{w: &out, json: true}
	f := figure{ops: 100, p50: 1, p99: 2, cpu: cpuShares{Service: 30, Postgres: 60, Client: 10}}
	if err := report.add(resultOf("one", f).against(2, atLeast, 3, "")); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"one","ops_per_s":100,"p50_ms":1,"p99_ms":2,"ratio":2,"goal":3,"bound":"at least","met":false,` +
		`"cpu":{"us_per_call":100,"service_share":0.3,"postgres_share":0.6,"client_share":0.1}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	out.Reset()
	report.json = false
	if err := errors.Join(report.add(benchResult{Name: "two", Note: "n"}), report.summary()); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], "two ") || lines[2] != "0 of 1 goals met" {
		t.Errorf("table: %q", lines)
	}
}

func TestChooseSections(t *testing.T) {
	chosen, err := chooseSections("g, hot")
	if err != nil || len(chosen) != 2 || chosen[0].name != "snapshot" || chosen[1].letter != "a" {
		t.Errorf("g and hot: %v, %v", chosen, err)
	}
	if _, err := chooseSections("a,z"); err == nil {
		t.Error("section z was accepted")
	}
}

func TestDriveEndsAtTheFirstFailure(t *testing.T) {
	failure := errors.New("no")
	var calls atomic.Int64
	_, err := drive(t.Context(), 4, time.Minute, func(context.Context, int, int) error {
		if calls.Add(1) > 20 {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) || calls.Load() > 24 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

func TestPgbenchLog(t *testing.T) {
	calls, err := parsePgbenchLog([]byte("0 1 50000 0 100 0\n1 1 900 0 100 999999\n0 2 2000 0 101 500000\n1 2 4000 0 102 0\n"))
	if err != nil || len(calls) != 4 {
		t.Fatalf("%v, %v", calls, err)
	}
	// The first second does not count: two calls in the one after it do.
	if f := figureOfPgbench(calls); f.ops != 2 || f.p99 != 4 {
		t.Errorf("%+v", f)
	}
	if _, err := parsePgbenchLog([]byte("progress: 1 s\n")); err == nil {
		t.Error("a line that is no call was accepted")
	}
}

func TestProcessStat(t *testing.T) {
	s, ok := parseStat([]byte("7 (a) b) S 42 7 7 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 1 0 99"))
	if !ok || s.parent != 42 || s.cpu != 2*time.Second || s.endedChildren != 500*time.Millisecond {
		t.Errorf("%+v, %v", s, ok)
	}
	if _, ok := parseStat([]byte("7 (a) S 42")); ok {
		t.Error("a short line was accepted")
	}
}

// The client counts what was done, and takes a refusal for a failure on either door.
func TestClientLoad(t *testing.T) {
	for door, refusal := range map[string]string{"rest": "", "mcp": `{"result":{"isError":true}}`} {
		var served atomic.Int64
		refuse := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || !json.Valid(body) || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer key") {
				t.Errorf("%s %s %s: %v", r.Method, r.URL, body, err)
			}
			served.Add(1)
			switch {
			case refuse && refusal == "":
				w.WriteHeader(http.StatusPaymentRequired)
			case refuse:
				_, _ = io.WriteString(w, refusal)
			default:
				_, _ = io.WriteString(w, "{}")
			}
		}))
		load := clientLoad{url: server.URL, duration: 50 * time.Millisecond, clients: 3}
		var out strings.Builder
		call := func() error {
			return load.run(t.Context(), process{stdin: strings.NewReader("w1 key1\nw2 key2\n"), stdout: &out}, door)
		}
		if err := call(); err != nil {
			t.Fatal(door, err)
		}
		var answer clientAnswer
		text, ready := strings.CutPrefix(out.String(), clientReady)
		if err := json.Unmarshal([]byte(text), &answer); err != nil || !ready || int64(answer.Calls) != served.Load() {
			t.Errorf("%s: answered %q after %d calls: %v", door, out.String(), served.Load(), err)
		}
		refuse = true
		if err := call(); err == nil {
			t.Errorf("%s: a refusal was taken for success", door)
		}
		server.Close()
	}
}

// With a rate the calls of all clients are spread evenly; without one none waits.
func TestClientRate(t *testing.T) {
	load, started := clientLoad{clients: 4, rate: 100}, time.Unix(1000, 0)
	var due []time.Duration
	for number := range 2 {
		for client := range load.clients {
			due = append(due, load.due(started, client, number).Sub(started))
		}
	}
	for i, d := range due {
		if want := time.Duration(i) * 10 * time.Millisecond; d != want {
			t.Errorf("call %d is due after %v, want %v", i, d, want)
		}
	}
	load.rate = 0
	if at := load.due(started, 3, 1000); !at.Equal(started) {
		t.Errorf("without a rate a call is due at %v", at)
	}
}

// The two designs are compared fairly only while they leave the same rows behind.
func TestOrdinaryTransactionDoesTheSameWork(t *testing.T) {
	ctx := t.Context()
	url := storetest.Database(t)
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := store.Open(ctx, store.Options{URL: url, Lanes: 1, PoolSize: 1, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(ctx))
	targets, err := makeTargets(ctx, pool, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"first", writeBody} {
		if err := errors.Join(writeThrough(ctx, s, targets[0], "d/f1", content), writeOrdinary(ctx, pool, targets[1], "d/f1", content)); err != nil {
			t.Fatal(err)
		}
	}
	rowsOf := func(one target) (rows string) {
		err := pool.QueryRow(ctx, `
			select jsonb_pretty(jsonb_build_array(
			    (select to_jsonb(w) - '{workspace_id,created_at,last_ts,refusal_at,changed_hour}'::text[] from workspaces w where workspace_id = $1),
			    (select jsonb_agg(to_jsonb(k) - '{workspace_id,key_hash,subkey_id,last_used_at,era}'::text[] || jsonb_build_object('used', last_used_at is not null))
			       from keys k where workspace_id = $1),
			    (select jsonb_agg(to_jsonb(f) - '{workspace_id,created_at,updated_at,era}'::text[]) from files f where workspace_id = $1),
			    (select jsonb_agg(to_jsonb(a) - '{workspace_id,ts,subkey_id}'::text[] order by seq) from activity a where workspace_id = $1)))`,
			one.workspace).Scan(&rows)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	lanes, ordinary := rowsOf(targets[0]), rowsOf(targets[1])
	if lanes != ordinary {
		t.Errorf("lanes left\n%s\nthe ordinary transactions left\n%s", lanes, ordinary)
	}
	if !strings.Contains(lanes, `"seq": 2`) {
		t.Errorf("two writes left\n%s", lanes)
	}
}
