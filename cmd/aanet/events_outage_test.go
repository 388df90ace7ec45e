package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"aanet/store/pgserver"
	"aanet/store/storetest"
)

// follower collects the seq of each event that it sees, going from one process to the other.
type follower struct {
	mu   sync.Mutex
	seqs []int64
}

func (f *follower) saw(seqs ...int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seqs = append(f.seqs, seqs...)
}

func (f *follower) all() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seqs)
}

// poll asks for events until ctx ends; a call that is put off is made again from where it was.
func (f *follower) poll(ctx context.Context, t *testing.T, urls []string, path, key string) {
	for after, i := int64(0), 0; ctx.Err() == nil; i++ {
		r := ask(t, urls[i%len(urls)], "GET", fmt.Sprint(path, "/events?wait_seconds=2&after=", after), key, "")
		if r.status != 200 {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		var page struct {
			Events []struct{ Seq int64 }
			Next   int64 `json:"next_after"`
		}
		if err := json.Unmarshal([]byte(r.text), &page); err != nil {
			t.Error(err)
		}
		for _, e := range page.Events {
			f.saw(e.Seq)
		}
		after = page.Next
	}
}

// stream reads events as they come until ctx ends; a stream that ends is opened again at the other process.
func (f *follower) stream(ctx context.Context, t *testing.T, urls []string, path, key string) {
	for last, i := "0", 0; ctx.Err() == nil; i++ {
		r, err := http.NewRequestWithContext(ctx, "GET", urls[i%len(urls)]+path+"/events", nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Last-Event-ID", last)
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != 200 {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		id := ""
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				id = value
			case "data":
				seq, _ := strconv.ParseInt(id, 10, 64)
				f.saw(seq)
			case "":
				last = id
			}
		}
		answer.Body.Close()
	}
}

// TestEventsOutliveTheDatabase: while the database goes and comes back, a poller and a stream that go
// from one process to another miss nothing and see nothing twice.
func TestEventsOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	c := layCable(t, dsn)
	followThrough(t, dsn, c.dsn, func() {
		c.pull()
		time.Sleep(300 * time.Millisecond)
		c.mend()
	})
}

// TestEventsOutliveAKilledPostgres: the same while Postgres dies and recovers.
func TestEventsOutliveAKilledPostgres(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: filepath.Join(t.TempDir(), "postgres"), Durable: true, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	followThrough(t, server.URL(), server.URL(), func() {
		killed, ok := postmasterOf(server.Dir)
		if !ok {
			t.Fatal("no Postgres to kill")
		}
		if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "another Postgres", func() bool {
			pid, ok := postmasterOf(server.Dir)
			return ok && pid != killed
		})
	})
}

// followThrough follows the events of a workspace while two processes write them and the database, which they reach
// by through, has two outages.
func followThrough(t *testing.T, dsn, through string, outage func()) {
	first := serving(t, through)
	second := serving(t, through)
	urls := []string{first.url, second.url}
	made := must(t, first.url, "POST", "/v1/workspaces", "", `{"label":"events"}`)
	path, key := "/v1/workspaces/"+made.string("workspace_id"), made.string("owner_key")
	storetest.Exec(t, dsn, "update workspaces set balance = 1000000")
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var polled, streamed follower
	all.Go(func() { polled.poll(ctx, t, urls, path, key) })
	all.Go(func() { streamed.stream(ctx, t, urls, path, key) })
	var sent atomic.Int64
	writing, enough := context.WithCancel(ctx)
	var writers sync.WaitGroup
	for i := range urls {
		writers.Go(func() {
			for writing.Err() == nil {
				if ask(t, urls[i], "POST", path+"/messages", key, `{"body":"m"}`).status == 201 {
					sent.Add(1)
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	more := func(n int64) {
		t.Helper()
		goal := sent.Load() + n
		eventually(t, fmt.Sprint(n, " more messages"), func() bool { return sent.Load() >= goal })
	}
	more(50)
	for range 2 {
		outage()
		more(50)
	}
	enough()
	writers.Wait() // or one of them writes after the log was read
	var want []int64
	eventually(t, "both to see the end", func() bool {
		want = want[:0]
		rows, ok := ask(t, first.url, "GET", path+"/activity?operation=SEND_MESSAGE&limit=500", key, "").body["result"].([]any)
		if !ok { // it meets a connection that the outage has ended
			return false
		}
		for _, row := range slices.Backward(rows) {
			want = append(want, int64(row.(map[string]any)["seq"].(float64)))
		}
		return len(polled.all()) >= len(want) && len(streamed.all()) >= len(want)
	})
	stop()
	all.Wait()
	if len(want) == 500 {
		t.Fatal("more messages than one page of the log shows")
	}
	if !slices.Equal(polled.all(), want) || !slices.Equal(streamed.all(), want) {
		t.Errorf("of %d events the poller saw %d and the stream %d, or not in order", len(want), len(polled.all()), len(streamed.all()))
	}
}
