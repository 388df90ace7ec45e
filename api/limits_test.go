package api_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/apitest"
)

// handClock stands still until a test moves it.
type handClock struct {
	sync.Mutex
	now time.Time
}

func (c *handClock) read() time.Time {
	c.Lock()
	defer c.Unlock()
	return c.now
}

func (c *handClock) advance(d time.Duration) {
	c.Lock()
	defer c.Unlock()
	c.now = c.now.Add(d)
}

func TestRequestRates(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	limits := api.Limits{KeyRate: 1, KeyBurst: 10, FailedKeysPerMinute: 5, TrialPerHour: 2}
	world := apitest.New(t, apitest.Options{Limits: limits, Clock: clock.read})
	ws := world.Workspace(t, 1000)
	a, gone := ws.Mint(t), ws.Mint(t)
	ws.Revoke(t, gone)
	for range 10 {
		a.OK(t, "get_workspace", nil)
	}
	refused := a.Refused(t, "RATE_LIMITED", "get_workspace", nil)
	same(t, "status", refused.Status, 429)
	if wait := refused.Int("retry_after"); wait < 1 {
		t.Errorf("retry_after is %d", wait)
	}
	clock.advance(time.Second)
	rows := ws.Last(t).Seq
	a.OK(t, "get_workspace", nil)
	a.Refused(t, "RATE_LIMITED", "write_file", args{"path": "f", "content": "x"})
	same(t, "rows", ws.Last(t).Seq, rows)

	// Wrong keys use up the address's budget; a good key from there goes on working. A revoked key is answered
	// as the log says, and limited like any key.
	clock.advance(time.Hour)
	wrong, revoked, before := map[string]int{}, map[string]int{}, ws.Last(t).Seq
	for range 12 {
		wrong[world.Door.Call(t, "get_workspace", "wrong", ws.ID, nil).Code]++
		revoked[gone.Call(t, "get_workspace", nil).Code]++
	}
	same(t, "wrong keys", fmt.Sprint(wrong), "map[RATE_LIMITED:7 UNAUTHENTICATED:5]")
	same(t, "a revoked key", fmt.Sprint(revoked), "map[RATE_LIMITED:2 UNAUTHENTICATED:10]")
	same(t, "rows of the revoked key", ws.Last(t).Seq, before+10)
	a.OK(t, "get_workspace", nil)

	answers := map[string]int{}
	for range 5 {
		answers[world.Door.Call(t, "create_trial_workspace", "", "", nil).Code]++
	}
	same(t, "trials", answers[""], 2)
	same(t, "trials refused", answers["RATE_LIMITED"], 3)
}

func TestAddressesAreApart(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	world := apitest.New(t, apitest.Options{Limits: api.Limits{TrialPerHour: 2}, Clock: clock.read})
	trial := apitest.Operation(t, "create_trial_workspace")
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
		var made int
		for range 4 {
			if world.Service.Call(t.Context(), trial, api.Request{Address: netip.MustParseAddr(address)}).Refusal == nil {
				made++
			}
		}
		same(t, "trials from "+address, made, 2)
	}
}

// TestRefusalRows: the log keeps so many refusals and no more, and what is beyond is told to wait.
func TestRefusalRows(t *testing.T) {
	t.Parallel()
	world := apitest.New(t, apitest.Options{RefusalRate: 0.01, RefusalBurst: 5})
	ws := world.Workspace(t, 1000)
	other := world.Workspace(t, 1000)
	a := ws.Mint(t)
	kinds := []func() apitest.Reply{
		func() apitest.Reply { return a.Call(t, "read_file", args{"path": "none"}) },
		func() apitest.Reply { return a.Call(t, "read_file", args{"path": "//"}) },
		func() apitest.Reply { return a.Call(t, "list_subkeys", nil) },
		func() apitest.Reply { return a.In(t, uuid.NewString(), "get_workspace", nil) },
		func() apitest.Reply { return ws.Owner.Call(t, "revoke_subkey", args{"subkey_id": "x"}) },
	}
	codes := map[string]int{}
	for i := range 20 {
		codes[kinds[i%len(kinds)]().Code]++
	}
	same(t, "refused and logged", 20-codes["RATE_LIMITED"], 5)
	refused := a.Refused(t, "RATE_LIMITED", "read_file", args{"path": "none"})
	same(t, "retry_after", refused.Int("retry_after"), 1)
	logged := 0
	for _, row := range ws.Log(t) {
		if row.Status != "OK" {
			logged++
		}
	}
	same(t, "rows", logged, 5)
	a.Write(t, "f", "calls that are no refusals go on")
	other.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "the next tenant has its own budget"})
	later := a.On(ws.Later(t, 4*time.Minute))
	later.Refused(t, "NOT_FOUND", "read_file", args{"path": "none"})
	later.Refused(t, "NOT_FOUND", "read_file", args{"path": "none"})
	later.Refused(t, "RATE_LIMITED", "read_file", args{"path": "none"})
	ws.CheckLedger(t)
}
