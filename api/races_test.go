package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api/apitest"
)

// race is a workspace that two replicas serve, one over REST and one over MCP.
func race(t *testing.T, units int64) [2]*apitest.Workspace {
	t.Helper()
	t.Parallel()
	one := apitest.New(t, apitest.Options{Door: bothDoors()}).Workspace(t, units)
	return [2]*apitest.Workspace{one, one.On(one.Replica(t))}
}

// tally counts answers by their code, "" for the successes.
type tally struct {
	sync.Mutex
	codes map[string]int
}

func (c *tally) add(r apitest.Reply) apitest.Reply {
	c.Lock()
	defer c.Unlock()
	if c.codes == nil {
		c.codes = map[string]int{}
	}
	c.codes[r.Code]++
	return r
}

func (c *tally) want(t *testing.T, want map[string]int) {
	t.Helper()
	if fmt.Sprint(c.codes) != fmt.Sprint(want) {
		t.Errorf("answers %v, want %v", c.codes, want)
	}
}

func TestOneWriterWins(t *testing.T) {
	on := race(t, 10_000)
	defer on[0].CheckLedger(t)
	etag := on[0].Owner.Write(t, "f", "start")
	var codes tally
	var winner atomic.Value
	apitest.Together(20, func(i int) {
		body := fmt.Sprint("writer ", i)
		if r := codes.add(on[i%2].Owner.Call(t, "write_file", args{"path": "f", "content": body, "if_match": etag})); r.Code == "" {
			winner.Store([2]string{body, r.Text("etag")})
		}
	})
	codes.want(t, map[string]int{"": 1, "CONFLICT": 19})
	read := on[1].Owner.OK(t, "read_file", args{"path": "f"})
	same(t, "stored", any([2]string{read.Text("content"), read.Text("etag")}), winner.Load())
}

func TestCreatedOnce(t *testing.T) {
	on := race(t, 10_000)
	defer on[0].CheckLedger(t)
	var created atomic.Int32
	apitest.Together(20, func(i int) {
		if on[i%2].Owner.OK(t, "write_file", args{"path": "f", "content": "x"}).Body["created"] == any(true) {
			created.Add(1)
		}
	})
	same(t, "created", created.Load(), 1)
}

func TestAppendsAllArrive(t *testing.T) {
	on := race(t, 10_000)
	defer on[0].CheckLedger(t)
	keys := [2]apitest.Agent{on[0].Mint(t), on[1].Mint(t)}
	etags := make([]string, 40)
	apitest.Together(40, func(i int) {
		etags[i] = keys[i%2].On(on[i/2%2]).Append(t, "log", fmt.Sprintf("<%d%s>", i, strings.Repeat("x", 300)))
	})
	read := on[0].Owner.OK(t, "read_file", args{"path": "log"})
	content := read.Text("content")
	for i := range 40 {
		piece := fmt.Sprintf("<%d%s>", i, strings.Repeat("x", 300))
		same(t, "piece "+fmt.Sprint(i), strings.Count(content, piece), 1)
		content = strings.Replace(content, piece, "", 1)
	}
	same(t, "what is left", content, "")
	if !slices.Contains(etags, read.Text("etag")) {
		t.Errorf("the etag %s was given to nobody", read.Text("etag"))
	}
}

func TestWritesAndAppendsMix(t *testing.T) {
	on := race(t, 100_000)
	defer on[0].CheckLedger(t)
	on[0].Owner.Write(t, "f", strings.Repeat("s", 5_000)) // appends to it become chunks
	etags := make([]string, 40)
	apitest.Together(40, func(i int) {
		if agent := on[i/2%2].Owner; i%2 == 0 {
			etags[i] = agent.Write(t, "f", fmt.Sprintf("[%d%s]", i, strings.Repeat("w", 5_000)))
		} else {
			etags[i] = agent.Append(t, "f", fmt.Sprintf("<%d>", i))
		}
	})
	// An etag is a position in the log, so the log's order is the order of effects.
	order := map[string]int{}
	for _, row := range on[0].Log(t) {
		order[fmt.Sprintf("v%x", row.Seq)] = int(row.Seq)
	}
	want, calls := "", make([]int, 40)
	for i := range calls {
		calls[i] = i
	}
	slices.SortFunc(calls, func(a, b int) int { return order[etags[a]] - order[etags[b]] })
	for _, i := range calls {
		if i%2 == 0 {
			want = fmt.Sprintf("[%d%s]", i, strings.Repeat("w", 5_000))
		} else {
			want += fmt.Sprintf("<%d>", i)
		}
	}
	if got := on[1].Owner.Read(t, "f"); got != want {
		t.Errorf("the file has %d bytes and is not what the calls in their order make (%d bytes)", len(got), len(want))
	}
}

func TestDeleteAgainstWrite(t *testing.T) {
	on := race(t, 10_000)
	defer on[0].CheckLedger(t)
	for round := range 20 {
		etag := on[0].Owner.Write(t, "f", "start")
		var answers [2]apitest.Reply
		apitest.Together(2, func(i int) {
			if i == 0 {
				answers[0] = on[round%2].Owner.Call(t, "delete_file", args{"path": "f", "if_match": etag})
			} else {
				answers[1] = on[1-round%2].Owner.Call(t, "write_file", args{"path": "f", "content": "written", "if_match": etag})
			}
		})
		read := on[0].Owner.Call(t, "read_file", args{"path": "f"})
		deleted := answers[0].Code == "" && answers[1].Code == "CONFLICT" && read.Code == "NOT_FOUND"
		written := answers[0].Code == "CONFLICT" && answers[1].Code == "" && read.Text("content") == "written"
		if !deleted && !written {
			t.Errorf("delete %q, write %q, then read %q %q", answers[0].Code, answers[1].Code, read.Code, read.Text("content"))
		}
	}
}

func TestOneHolder(t *testing.T) {
	on := race(t, 10_000)
	defer on[0].CheckLedger(t)
	var keys []apitest.Agent
	for range 30 {
		keys = append(keys, on[0].Mint(t))
	}
	before := on[0].Balance(t)
	var codes tally
	var holder atomic.Value
	apitest.Together(30, func(i int) {
		if codes.add(keys[i].On(on[i%2]).Call(t, "acquire_lock", lockArgs("l", 60))).Code == "" {
			holder.Store(keys[i].ID)
		}
	})
	codes.want(t, map[string]int{"": 1, "LOCK_HELD": 29})
	same(t, "paid", before-on[0].Balance(t), 5)
	same(t, "holder", any(on[1].Owner.OK(t, "get_lock_status", args{"name": "l"}).Text("holder_subkey_id")), holder.Load())
	logged := 0
	for _, row := range on[0].Log(t) {
		if row.Status == "LOCK_HELD" {
			logged++
		}
	}
	same(t, "logged", logged, 29)
}

// TestTakeover lets many keys try all the time: leases of one holder after the other never overlap.
func TestTakeover(t *testing.T) {
	on := race(t, 100_000)
	defer on[0].CheckLedger(t)
	type lease struct {
		token    int64
		from, to time.Time
	}
	var mu sync.Mutex
	var leases []lease
	var keys []apitest.Agent
	for range 8 {
		keys = append(keys, on[0].Mint(t))
	}
	apitest.Together(8, func(i int) {
		var mine time.Time // so that it is another's turn when the lease ends
		for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			enough := len(leases) > 3
			mu.Unlock()
			if enough {
				return
			}
			if time.Now().Before(mine) {
				continue
			}
			r := keys[i].On(on[i%2]).Call(t, "acquire_lock", lockArgs("l", 1))
			if r.Code == "" && r.Body["reacquired"] == any(false) {
				to := instant(t, r.Text("lease_expires_at"))
				mu.Lock()
				leases = append(leases, lease{r.Int("fencing_token"), to.Add(-time.Second), to})
				mu.Unlock()
				mine = to.Add(100 * time.Millisecond)
			} else if r.Code != "LOCK_HELD" && r.Code != "" {
				t.Errorf("acquire: %s", r.Code)
			}
		}
	})
	slices.SortFunc(leases, func(a, b lease) int { return int(a.token - b.token) })
	if len(leases) < 4 {
		t.Errorf("only %d leases", len(leases))
	}
	for i := 1; i < len(leases); i++ {
		if leases[i].token != leases[i-1].token+1 || leases[i].from.Before(leases[i-1].to) {
			t.Errorf("lease %+v follows %+v", leases[i], leases[i-1])
		}
	}
}
