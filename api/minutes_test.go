package api_test

import (
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/store/storetest"
)

// Answers are counted in the minute they were given in, and each minute is written down once, when it is over.
func TestMinutes(t *testing.T) {
	w := apitest.New(t, apitest.Options{})
	now := time.Date(2026, 11, 30, 12, 0, 59, 0, time.UTC)
	minutes := api.NewMinutes(func() time.Time { return now })
	m := api.NewMetrics(prometheus.NewRegistry())
	m.CountMinutes(minutes)
	m.Observe("rest", "write_file", 201, "", 0.004)
	m.Observe("mcp", "write_file", 404, api.NotFound, 0.0001)
	m.Observe("rest", "wait", 200, "", 40)       // it waited because it was told to
	m.Observe("rest", "unmatched", 200, "", 0.1) // a page is no call
	now = now.Add(time.Second)
	m.Observe("rest", "read_file", 200, "", 100)
	var many sync.WaitGroup
	for range 10 {
		many.Go(func() { m.Observe("rest", "read_file", 200, "", 100) })
	}
	many.Wait()
	for range 2 {
		if err := minutes.Write(t.Context(), w.Store, now.Truncate(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	const seen = `select coalesce(string_agg(concat_ws(' ', to_char(at at time zone 'UTC', 'HH24:MI'), what, calls), ', ' order by at, what collate "C"), '') from `
	same(t, "the first minute", storetest.Text(t, w.DSN, seen+"answer_minutes"), "12:00 NOT_FOUND 1, 12:00 OK 2, 12:00 time:00 1, 12:00 time:06 1")
	if err := minutes.Write(t.Context(), w.Store, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	same(t, "the hour", storetest.Text(t, w.DSN, seen+"answer_hours"), "12:00 NOT_FOUND 1, 12:00 OK 13, 12:00 time:00 1, 12:00 time:06 1, 12:00 time:29 11")
}
