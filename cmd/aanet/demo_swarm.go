package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"aanet/api/client"
	"aanet/store"
)

const (
	demoCredit  = 100_000 // units, $1
	listLength  = 25      // tasks in one file
	watchPeriod = 250 * time.Millisecond
)

// demoStage is where a demonstration takes place.
type demoStage struct {
	url   string
	store *store.Store // as the operator's: for the credit, and to check the ledger
	out   io.Writer
	live  bool // out is a terminal, so that what is shown can be drawn anew, and often
}

// swarm is the workspace with its keys.
type swarm struct {
	stage        demoStage
	size         demoSize
	workspace    uuid.UUID
	owner        *client.Client
	orchestrator restDoor
	ids          map[string]string // sub-key ids by name
	agents       []*swarmAgent
	begin        time.Time
	drawn        int // lines of the table on the terminal
}

// playDemo makes a workspace with its agents, lets them work, and checks what came of it.
func playDemo(ctx context.Context, stage demoStage, size demoSize) error {
	s, err := openSwarm(ctx, stage, size)
	if err != nil {
		return fmt.Errorf("set up the workspace: %w", err)
	}
	reports, err := s.work(ctx)
	if err != nil {
		return fmt.Errorf("work: %w", err)
	}
	took := time.Since(s.begin)
	b, err := s.readBooks(ctx)
	if err != nil {
		return fmt.Errorf("read the books: %w", err)
	}
	s.printReports(reports, b, took)
	return errors.Join(s.printChecks(s.checks(reports, b)), s.printNext(ctx))
}

// openSwarm creates and funds a workspace and mints a key for everybody.
func openSwarm(ctx context.Context, stage demoStage, size demoSize) (*swarm, error) {
	made, err := client.New(stage.url, "").CreateWorkspace(ctx, client.CreateWorkspaceIn{Label: "Demo swarm"})
	if err != nil {
		return nil, err
	}
	s := &swarm{stage: stage, size: size, owner: client.New(stage.url, made.OwnerKey), ids: map[string]string{}, begin: time.Now()}
	if s.workspace, err = uuid.Parse(made.WorkspaceID); err != nil {
		return nil, err
	}
	// Instead of a deposit.
	if err := stage.store.Credit(ctx, store.Act{By: "cli:demo", Reason: "demo"}, s.workspace, uuid.New(), demoCredit, false); err != nil {
		return nil, fmt.Errorf("credit: %w", err)
	}
	key, err := s.mint(ctx, "orchestrator", int64(2_000+20*size.tasks))
	if err != nil {
		return nil, err
	}
	s.orchestrator = restDoor{s.owner.WithKey(key), &meter{}}
	for i := range size.agents {
		if err := s.addAgent(ctx, i); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(stage.out, "workspace %s\n%d units, %d agents, %d tasks\n", s.workspace, demoCredit, size.agents, size.tasks)
	return s, nil
}

// mint makes a sub-key within the common scope, with a cap on what it may spend.
func (s *swarm) mint(ctx context.Context, name string, budget int64) (key string, err error) {
	minted, err := s.owner.MintSubkey(ctx, client.MintSubkeyIn{Label: name, PathScopePrefix: new(swarmScope), BudgetCap: &budget})
	s.ids[name] = minted.SubkeyID
	return minted.Key, err
}

// addAgent makes the agents in pairs, one over each door. A pair begins at the same task, so that there is something to
// settle between them; the pairs are spread over the list, so that not everybody wants the same.
func (s *swarm) addAgent(ctx context.Context, i int) error {
	pairs := (s.size.agents + 1) / 2
	a := &swarmAgent{meter: &meter{}, work: taskTime, place: float64(i/2) / float64(pairs), done: map[string]bool{}}
	if s.stage.live {
		a.work = taskTimeLive
	}
	a.report.Agent = fmt.Sprintf("agent-%d", i+1)
	key, err := s.mint(ctx, a.report.Agent, int64(500+60*s.size.tasks))
	if err != nil {
		return err
	}
	if i%2 == 0 {
		a.report.Door = "MCP"
		a.door, err = openMCP(ctx, s.stage.url, key, a.meter)
	} else {
		a.report.Door, a.door = "REST", restDoor{s.owner.WithKey(key), a.meter}
	}
	s.agents = append(s.agents, a)
	return err
}

// work runs all agents and the orchestrator; the first that fails ends them all.
func (s *swarm) work(ctx context.Context) ([]swarmReport, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var running sync.WaitGroup
	for _, a := range s.agents {
		running.Go(func() {
			if err := errors.Join(a.run(ctx), a.close()); err != nil {
				giveUp(fmt.Errorf("%s over %s: %w", a.report.Agent, a.report.Door, err))
			}
		})
	}
	reports, err := s.conduct(ctx)
	if err != nil {
		giveUp(fmt.Errorf("orchestrator: %w", err))
	}
	running.Wait()
	return reports, context.Cause(ctx)
}

// conduct is the orchestrator: it writes the tasks down, gives the start, and waits for everybody's report.
func (s *swarm) conduct(ctx context.Context) ([]swarmReport, error) {
	if err := s.writeTasks(ctx); err != nil {
		return nil, err
	}
	if err := s.orchestrator.sendMessage(ctx, nil, topicStart, "The tasks are in "+taskFolder+". Report to me when none is left."); err != nil {
		return nil, err
	}
	if s.stage.live {
		if err := s.showProgress(ctx, 0); err != nil {
			return nil, err
		}
	}
	var reports []swarmReport
	var since *time.Time // of the last message read: each comes exactly once
	for look := 0; len(reports) < len(s.agents); look++ {
		if err := pause(ctx, watchPeriod); err != nil {
			return nil, err
		}
		messages, err := s.orchestrator.getMessages(ctx, topicReport, since)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			report := swarmReport{}
			if err := json.Unmarshal([]byte(m.Body), &report); err != nil {
				return nil, err
			}
			reports, since = append(reports, report), &m.TS
		}
		if s.stage.live || look%4 == 0 {
			if err := s.showProgress(ctx, len(reports)); err != nil {
				return nil, err
			}
		}
	}
	return reports, nil
}

// writeTasks makes the lists and the two files that everybody adds to.
func (s *swarm) writeTasks(ctx context.Context) error {
	files := map[string]string{resultsPath: "", progressPath: `{"done":0,"last":""}`}
	lists := make([]strings.Builder, (s.size.tasks+listLength-1)/listLength)
	for i := range s.size.tasks {
		fmt.Fprintf(&lists[i/listLength], "task-%04d\n", i+1)
	}
	for i := range lists {
		files[fmt.Sprintf("%s/list-%02d.txt", taskFolder, i+1)] = lists[i].String()
	}
	for path, content := range files {
		if err := s.orchestrator.writeFile(ctx, path, content, nil); err != nil {
			return err
		}
	}
	return nil
}
