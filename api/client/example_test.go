package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/api/client"
	"aanet/api/client/clienttest"
)

// url is where the examples find a service: a real one, which stands behind them while they run.
var url string

func TestMain(m *testing.M) {
	stage := &exampleStage{}
	if os.Getenv("AANET_TEST_DATABASE_URL") != "" { // without it every test that needs one says so
		url = clienttest.Serve(stage, apitest.Options{}).URL
	}
	code := m.Run()
	stage.end()
	os.Exit(code)
}

// exampleStage lets a service be started outside a test.
type exampleStage struct {
	testing.TB
	ends []func()
}

func (*exampleStage) Helper()                        {}
func (*exampleStage) Context() context.Context       { return context.Background() }
func (s *exampleStage) Cleanup(f func())             { s.ends = append(s.ends, f) }
func (*exampleStage) Errorf(format string, a ...any) { log.Printf(format, a...) }
func (*exampleStage) Fatalf(format string, a ...any) { log.Fatalf(format, a...) }

func (s *exampleStage) end() {
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.ends[i]()
	}
}

// Example makes a trial workspace, mints a key for one agent, and lets it do a piece of work under a lock.
func Example() {
	ctx := context.Background()
	trial, err := client.New(url, "").CreateTrialWorkspace(ctx)
	if err != nil {
		log.Fatal(err)
	}
	owner := client.New(url, trial.OwnerKey)
	minted, err := owner.MintSubkey(ctx, client.MintSubkeyIn{
		Label: "agent one", PathScopePrefix: new("notes"), BudgetCap: new(int64(40)),
	})
	if err != nil {
		log.Fatal(err)
	}
	agent := owner.WithKey(minted.Key)

	var meta client.Meta
	err = agent.WithLock(ctx, client.HoldLockIn{Name: "notes/task-1", Lease: time.Minute}, func(ctx context.Context, lease *client.Lease) error {
		_, err := agent.WriteFile(ctx, client.WriteFileIn{
			Path: "notes/task-1.md", Content: "done",
			LockName: new(lease.Name()), FencingToken: new(lease.FencingToken()),
		}, client.WithMeta(&meta))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("cost:", meta.Cost, "left:", *meta.Remaining)
	// Output: cost: 10 left: 25
}

// A refusal tells what is wrong; decide by its code.
func ExampleError() {
	ctx := context.Background()
	trial, err := client.New(url, "").CreateTrialWorkspace(ctx)
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(url, trial.OwnerKey)
	first, err := c.WriteFile(ctx, client.WriteFileIn{Path: "plan.md", Content: "one"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err = c.WriteFile(ctx, client.WriteFileIn{Path: "plan.md", Content: "two"}); err != nil {
		log.Fatal(err)
	}
	// Somebody else has written meanwhile, so this changes nothing.
	_, err = c.WriteFile(ctx, client.WriteFileIn{Path: "plan.md", Content: "three", IfMatch: &first.Etag})
	var refusal *client.Error
	if errors.Is(err, client.CodeConflict) && errors.As(err, &refusal) {
		fmt.Println(refusal.Status, refusal.Code)
	}
	// Output: 409 CONFLICT
}

// Messages come once and in order. Keep the TS of the last one to go on after it.
func ExampleClient_FollowMessages() {
	ctx := context.Background()
	trial, err := client.New(url, "").CreateTrialWorkspace(ctx)
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(url, trial.OwnerKey)
	for _, text := range []string{"ready", "steady", "go"} {
		if _, err := c.SendMessage(ctx, client.SendMessageIn{Body: text, Topic: new("start")}); err != nil {
			log.Fatal(err)
		}
	}
	for message, err := range c.FollowMessages(ctx, client.FollowMessagesIn{Topic: new("start")}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message.Body)
		if message.Body == "go" {
			break
		}
	}
	// Output:
	// ready
	// steady
	// go
}

// Events tell of files, released locks and messages as they happen.
func ExampleClient_FollowEvents() {
	ctx := context.Background()
	trial, err := client.New(url, "").CreateTrialWorkspace(ctx)
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(url, trial.OwnerKey)
	if _, err := c.WriteFile(ctx, client.WriteFileIn{Path: "results/a.md", Content: "42"}); err != nil {
		log.Fatal(err)
	}
	in := client.FollowEventsIn{After: new(int64(0)), Types: []string{"file_write"}, PathPrefix: new("results")}
	for event, err := range c.FollowEvents(ctx, in) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Type, *event.Path)
		break
	}
	// Output: file_write results/a.md
}
