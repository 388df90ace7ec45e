package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"aanet/api/client"
	"aanet/store"
	"aanet/store/storetest"
)

// The demo at a small size: four agents, two over each door, share 24 tasks and leave nothing wrong behind.
func TestDemo(t *testing.T) {
	config, err := demoConfig(t.TempDir(), storetest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	err = whileServing(t.Context(), config, newLog(&log, config.LogLevel), func(ctx context.Context, m *Main) error {
		return playDemo(ctx, demoStage{url: m.URL(), store: m.store, out: &out}, demoSize{agents: 4, tasks: 24})
	})
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), log.String())
	}
	for _, line := range []string{
		"ok     24 result lines, all distinct", "ok     the agents' reports add up", "ok     the progress file counts every task",
		"ok     no lock is left held", "ok     each agent was charged exactly", "ok     the workspace was charged exactly",
		"ok     the ledger adds up (1 workspace checked)", "agent-1   MCP", "agent-4  REST",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
	if log.Len() > 0 {
		t.Errorf("errors were logged:\n%s", log.String())
	}
}

// On a terminal the table shows who holds what, and is drawn in the place of the last one.
func TestDemoLive(t *testing.T) {
	config, err := demoConfig(t.TempDir(), storetest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	err = whileServing(t.Context(), config, newLog(&log, config.LogLevel), func(ctx context.Context, m *Main) error {
		return playDemo(ctx, demoStage{url: m.URL(), store: m.store, out: &out, live: true}, demoSize{agents: 2, tasks: 12})
	})
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), log.String())
	}
	for _, part := range []string{"who           units  holds\n", "12 of 12 tasks", "2 of 2 agents done", "ok     the workspace was charged exactly", "\x1b[6A\x1b[J", "Next: make run"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
}

func TestDrawSwarm(t *testing.T) {
	var keys []client.SubkeyOut
	for i := range liveAgents + 2 {
		keys = append(keys, client.SubkeyOut{SubkeyID: fmt.Sprint("k", i), Label: fmt.Sprint("agent-", i), SpentSoFar: int64(i)})
	}
	held := []client.HeldLockOut{{Name: "work/task-0007", HolderSubkeyID: new("k1")}, {Name: "work/task-0009", HolderSubkeyID: new("k1")}, {Name: "work/by-the-owner"}}
	var b strings.Builder
	drawSwarm(&b, keys, held)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != liveAgents+3 || !strings.HasSuffix(lines[2], "1  task-0007, task-0009") || lines[liveAgents+1] != "and 2 more" || strings.Contains(b.String(), "owner") {
		t.Errorf("drawn:\n%s", b.String())
	}
}

// Each check of the demo must be able to fail.
func TestDemoNoticesWhatIsWrong(t *testing.T) {
	reports := []swarmReport{{Agent: "agent-1", Tasks: 2, Units: 40}, {Agent: "agent-2", Tasks: 1, Units: 30}}
	good := func() demoBooks {
		return demoBooks{
			results: []string{"task-0001 a", "task-0002 a", "task-0003 b"}, done: 3, reportUnits: 3, total: 87,
			spent: map[string]int64{"agent-1": 43, "agent-2": 33}, checked: 1,
		}
	}
	s := &swarm{size: demoSize{agents: 2, tasks: 3}, orchestrator: restDoor{meter: &meter{units: 10}}}
	for _, c := range []struct {
		name  string
		spoil func(*demoBooks)
		fault string
	}{
		{"nothing", func(*demoBooks) {}, ""},
		{"done twice", func(b *demoBooks) { b.results[2] = "task-0001 b" }, "task-0001 was done 2 times"},
		{"left out", func(b *demoBooks) { b.results = b.results[:2] }, "task-0003 was done 0 times"},
		{"a stranger's line", func(b *demoBooks) { b.results = append(b.results, "task-0009 b") }, "4 instead of 3"},
		{"a lost update", func(b *demoBooks) { b.done = 2 }, "2 instead of 3"},
		{"a lock", func(b *demoBooks) { b.locks = 1 }, "1 instead of 0"},
		{"a charge", func(b *demoBooks) { b.spent["agent-2"] = 34 }, "agent-2 counted 33, charged 34"},
		{"the total", func(b *demoBooks) { b.total = 88 }, "88 instead of 87"},
		{"the ledger", func(b *demoBooks) { b.differences = []store.Difference{{}} }, "1 instead of 0"},
	} {
		b := good()
		c.spoil(&b)
		var out bytes.Buffer
		s.stage.out = &out
		err := s.printChecks(s.checks(reports, b))
		if (err != nil) != (c.fault != "") || !strings.Contains(out.String(), c.fault) {
			t.Errorf("%s: %v\n%s", c.name, err, out.String())
		}
	}
	if err := s.printChecks(s.checks(reports[:1], good())); err == nil {
		t.Error("a missing report was not noticed")
	}
}

func TestDemoSize(t *testing.T) {
	for args, want := range map[string]string{
		"": "{8 200}", "--agents 4 --tasks 24": "{4 24}", "--agents 1": "", "--agents 99": "", "--tasks 0": "", "--tasks x": "", "more": "",
	} {
		size, err := demoSizeOf(strings.Fields(args))
		if got := fmt.Sprint(size); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %s, %v", args, got, err)
		}
	}
}
