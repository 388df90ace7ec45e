package webhooks_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aanet/api/apitest"
)

// What webhooks cost a write: nobody subscribes, an endpoint waits without being served, and it is
// served beside. paced is 200 writes a second, the rest as fast as 32 callers can.
//
//	go run ./store/storetest/withpostgres -- go test ./webhooks -run '^$' -bench Writes -benchtime 2000x
func BenchmarkWrites(b *testing.B) {
	for _, mode := range []string{"nobody subscribes", "queued only", "delivered"} {
		for _, paced := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/paced=%v", mode, paced), func(b *testing.B) {
				w := newWorld(b)
				ws := w.Workspace(b, 1_000_000_000)
				if mode != "nobody subscribes" {
					w.register(ws, w.receiver(nil).URL, "file_write")
				}
				if mode == "delivered" {
					w.deliver(nil)
				}
				ws.Owner.Write(b, "warm", "x")
				b.ResetTimer()
				var took []time.Duration
				if paced {
					took = pacedWrites(b, ws)
				} else {
					took = manyWrites(b, ws)
				}
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
				b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "writes/s")
			})
		}
	}
}

func pacedWrites(b *testing.B, ws *apitest.Workspace) []time.Duration {
	took := make([]time.Duration, b.N)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var all sync.WaitGroup
	for i := range b.N {
		<-tick.C
		all.Go(func() {
			started := time.Now()
			ws.Owner.Write(b, fmt.Sprint("f", i%100), "x")
			took[i] = time.Since(started)
		})
	}
	all.Wait()
	return took
}

func manyWrites(b *testing.B, ws *apitest.Workspace) []time.Duration {
	const callers = 32
	took := make([]time.Duration, b.N)
	apitest.Together(callers, func(c int) {
		for i := c; i < b.N; i += callers {
			started := time.Now()
			ws.Owner.Write(b, fmt.Sprint("f", i%100), "x")
			took[i] = time.Since(started)
		}
	})
	return took
}

// Fifty endpoints, one of which never answers, and 500 events a second for ten seconds.
//
//	go run ./store/storetest/withpostgres -- go test ./webhooks -run '^$' -bench Fifty -benchtime 1x
func BenchmarkFiftyEndpointsAndABlackHole(b *testing.B) {
	const endpoints, perSecond, seconds = 50, 500, 10
	w := newWorld(b)
	release := make(chan struct{})
	hole := w.receiver(func(int, http.ResponseWriter) { <-release })
	b.Cleanup(func() { close(release) })
	var mu sync.Mutex
	sent, late := map[string]time.Time{}, []time.Duration{}
	healthy := w.receiver(nil)
	tenants := make([]*apitest.Workspace, endpoints)
	for i := range tenants {
		tenants[i] = w.Workspace(b, 1_000_000)
		url := fmt.Sprint(healthy.URL, "/", i)
		if i == 0 {
			url = hole.URL
		}
		w.register(tenants[i], url, "message")
	}
	w.deliver(nil)
	b.ResetTimer()
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	var all sync.WaitGroup
	for i := range perSecond * seconds {
		<-tick.C
		all.Go(func() {
			id := tenants[i%endpoints].Owner.OK(b, "send_message", args{"body": "x"}).Text("message_id")
			mu.Lock()
			defer mu.Unlock()
			sent[id] = time.Now()
		})
	}
	all.Wait()
	got := healthy.wait(b, perSecond*seconds*(endpoints-1)/endpoints)
	b.StopTimer()
	for _, q := range got {
		_, id, _ := strings.Cut(q.body, `"message_id":"`)
		late = append(late, q.at.Sub(sent[id[:36]]))
	}
	slices.Sort(late)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms-p99")
	b.ReportMetric(float64(len(got)), "delivered")
	b.ReportMetric(float64(len(hole.got())), "attempts-at-the-hole")
	b.ReportMetric(float64(memory.HeapInuse>>20), "MiB-heap")
}
