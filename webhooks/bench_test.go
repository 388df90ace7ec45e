package webhooks_test

import (
	"fmt"
	"slices"
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
