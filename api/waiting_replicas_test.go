package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/mcp"
	"aanet/api/rest/openapitest"
	"aanet/store/storetest"
)

// together are two replicas of a workspace that tell each other of commits.
func together(t *testing.T, units int64) [2]*apitest.Workspace {
	t.Helper()
	world := apitest.New(t, apitest.Options{Notes: true})
	first := world.Workspace(t, units)
	return [2]*apitest.Workspace{first, first.On(world.Replica(t))}
}

// call makes a call as long as ctx lives, and may be answered anything.
func call(ctx context.Context, ws *apitest.Workspace, key, tool string, in map[string]any) api.Answer {
	for _, o := range api.Operations() {
		if o.Name == tool {
			for name, value := range in {
				in[name] = api.Text(fmt.Sprint(value))
			}
			return ws.Service.Call(ctx, o, api.Request{Credential: key, Workspace: &ws.ID, Input: in, ID: "test"})
		}
	}
	panic("no operation " + tool)
}

func TestWaitersAreServedInOrderOverReplicas(t *testing.T) {
	t.Parallel()
	const waiters = 50
	on := together(t, 1_000_000)
	holder := on[0].Mint(t)
	// Both replicas live, and nobody's second passes, however busy this machine is.
	storetest.Exec(t, on[0].DSN, `
		create function lives() returns trigger language plpgsql as $$ begin new.beat_at := new.beat_at + interval '1 day'; return new; end $$;
		create trigger lives before insert or update on replicas for each row execute function lives()`)
	standStill(t, on[0])
	holder.Acquire(t, "l", 3600)
	var mu sync.Mutex
	var served []int
	var all sync.WaitGroup
	for i := range waiters {
		ws := on[i%2]
		own := on[0].Mint(t).On(ws)
		all.Go(func() {
			own.Costs(t, 5, "acquire_lock", waitFor("l", 3600, 50))
			mu.Lock()
			served = append(served, i)
			mu.Unlock()
			own.OK(t, "release_lock", args{"name": "l"})
		})
		tickets(t, ws, i+1)
	}
	began := time.Now()
	holder.OK(t, "release_lock", args{"name": "l"})
	all.Wait()
	t.Logf("%d hand-overs in %v", waiters, time.Since(began))
	if !slices.IsSorted(served) || len(served) != waiters {
		t.Errorf("served in the order %v", served)
	}
	on[0].CheckLedger(t)
}

func TestWaitersOutliveAnotherReplica(t *testing.T) {
	t.Parallel()
	on := together(t, 1_000_000)
	holder := on[0].Mint(t)
	holder.Acquire(t, "l", 3600)
	ctx, hangUp := context.WithCancel(t.Context())
	var dead sync.WaitGroup
	for i := range 5 {
		dead.Go(func() { call(ctx, on[1], on[1].Owner.Key, "acquire_lock", waitFor("l", 3600, 50)) })
		tickets(t, on[0], i+1)
	}
	wait := later(func() apitest.Reply { return on[0].Owner.Costs(t, 5, "acquire_lock", waitFor("l", 3600, 50)) })
	tickets(t, on[0], 6)
	if err := on[1].Store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	released := time.Now()
	holder.OK(t, "release_lock", args{"name": "l"})
	wait(t)
	if took := time.Since(released); took > promptly {
		t.Errorf("served %v after the release", took)
	}
	hangUp()
	dead.Wait()
}

func TestCallersThatAreGoneAreSkipped(t *testing.T) {
	t.Parallel()
	on := together(t, 1_000_000)
	holder := on[0].Mint(t)
	holder.Acquire(t, "l", 3600)
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan api.Answer, 1)
	go func() { gone <- call(ctx, on[1], on[1].Owner.Key, "acquire_lock", waitFor("l", 3600, 50)) }()
	tickets(t, on[0], 1)
	next := on[0].Mint(t)
	wait := later(func() apitest.Reply { return next.Costs(t, 5, "acquire_lock", waitFor("l", 3600, 50)) })
	tickets(t, on[0], 2)
	hangUp()
	<-gone
	tickets(t, on[0], 1)
	released := time.Now()
	holder.OK(t, "release_lock", args{"name": "l"})
	wait(t)
	if took := time.Since(released); took > promptly {
		t.Errorf("the next was served %v after the release", took)
	}
	on[0].CheckLedger(t)
}

// TestManyWaitersWakeOneByOne has a pool of two connections, and measures how long a commit takes to wake one.
func TestManyWaitersWakeOneByOne(t *testing.T) {
	t.Parallel()
	waiters, wakes := 500, 40
	if soak() {
		waiters, wakes = 1000, 1000
	}
	on := together(t, 1_000_000)
	before := runtime.NumGoroutine()
	ctx, hangUp := context.WithCancel(t.Context())
	var all sync.WaitGroup
	type woken struct {
		replica, topic int
		at             time.Time
	}
	answers := make(chan woken, 2*waiters)
	for replica, ws := range on {
		for i := range waiters {
			all.Go(func() {
				for ctx.Err() == nil { // a busy machine may need more than one wait for so many
					a := call(ctx, ws, ws.Owner.Key, "get_messages", map[string]any{"topic": topic(replica, i), "wait_seconds": 50})
					if messages, _ := a.Out.(api.List[api.MessageOut]); len(messages.Result) > 0 {
						answers <- woken{replica, i, time.Now()}
						return
					}
				}
			})
		}
	}
	eventually(t, "all wait", func() bool { return on[0].Store.Waiting() == waiters && on[1].Store.Waiting() == waiters })
	time.Sleep(100 * time.Millisecond) // for those whose first look is under way
	var took [2][]time.Duration
	for i := range wakes {
		for replica := range on {
			sent := time.Now()
			on[0].Owner.OK(t, "send_message", args{"body": "wake up", "topic": topic(replica, i)})
			w := <-answers
			if w.replica != replica || w.topic != i {
				t.Fatalf("%d of replica %d was woken instead of %d of %d", w.topic, w.replica, i, replica)
			}
			took[replica] = append(took[replica], w.at.Sub(sent))
		}
	}
	for replica, where := range []string{"same process", "other replica"} {
		slices.Sort(took[replica])
		t.Logf("from the call that sends to the answer, %s: p50 %v, p99 %v", where, took[replica][wakes/2], took[replica][wakes*99/100])
	}
	hangUp()
	all.Wait()
	eventually(t, "all goroutines are freed", func() bool { return runtime.NumGoroutine() < before+waiters/2 })
	if n := on[0].Store.Waiting() + on[1].Store.Waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func topic(replica, i int) string { return fmt.Sprint("t", replica, ".", i) }

func TestDrainAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	world := apitest.New(t, apitest.Options{})
	ws := world.Workspace(t, 1000)
	ws.Mint(t).Acquire(t, "l", 60)
	lock := later(func() apitest.Reply { return ws.Owner.Refused(t, "LOCK_HELD", "acquire_lock", waitFor("l", 3600, 50)) })
	inbox := later(func() apitest.Reply { return ws.Owner.Costs(t, 1, "get_messages", args{"wait_seconds": 50}) })
	feed := later(func() apitest.Reply { return ws.Owner.Costs(t, 1, "wait", args{"wait_seconds": 50}) })
	tickets(t, ws, 1)
	eventually(t, "all wait", func() bool { return ws.Store.Waiting() == 3 })
	began := time.Now()
	ws.Service.Drain()
	for _, wait := range []func(*testing.T) (apitest.Reply, time.Duration){lock, inbox, feed} {
		wait(t)
	}
	if took := time.Since(began); took > promptly {
		t.Errorf("answered %v after the drain", took)
	}
	ws.Owner.OK(t, "wait", args{"wait_seconds": 50}) // at once
	n, err := ws.Store.LockTickets(t.Context(), uuid.MustParse(ws.ID))
	if err != nil || n != 0 {
		t.Errorf("%d tickets are left, %v", n, err)
	}
	ws.CheckLedger(t)
}

// TestCallersThatHangUp leaves the line by ending the HTTP request, at either door, as clients of every
// protocol version do.
func TestCallersThatHangUp(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{}).Workspace(t, 1000)
	ws.Mint(t).Acquire(t, "l", 60)
	mcpDoor := httptest.NewServer(mcp.New(ws.Service, mcp.Options{Log: doorLog(t), Version: "test"}))
	t.Cleanup(mcpDoor.Close)
	restDoor := strings.TrimSuffix(serveREST(t, ws), "/events")
	wait := `"lease_seconds":60,"wait_seconds":50`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_acquire_lock","arguments":{"name":"l",` + wait + `}}}`
	for _, door := range []struct{ name, method, address, body, version string }{
		{"rest", http.MethodPut, restDoor + "/locks/l", "{" + wait + "}", ""},
		{"mcp", http.MethodPost, mcpDoor.URL, call, "2025-06-18"},
		{"mcp", http.MethodPost, mcpDoor.URL, call, ""},
	} {
		ctx, hangUp := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, door.method, door.address, strings.NewReader(door.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+ws.Owner.Key)
		if door.version != "" {
			r.Header.Set("Mcp-Protocol-Version", door.version)
		}
		answered := make(chan error, 1)
		go func() {
			answer, err := openapitest.Client(t).Do(r)
			if err == nil {
				answer.Body.Close()
			}
			answered <- err
		}()
		tickets(t, ws, 1)
		hangUp()
		if err := <-answered; err == nil {
			t.Errorf("%s %s: it was answered before it hung up", door.name, door.version)
		}
		tickets(t, ws, 0)
	}
	ws.CheckLedger(t)
}

func TestExpiredTrialsAreSentAway(t *testing.T) {
	t.Parallel()
	trial := apitest.New(t, apitest.Options{TrialTTL: 2 * time.Second}).Trial(t)
	wait := later(func() apitest.Reply {
		return trial.Owner.Refused(t, "UNAUTHENTICATED", "get_messages", args{"wait_seconds": 50})
	})
	if _, took := wait(t); took > promptly {
		t.Errorf("sent away after %v", took)
	}
}
