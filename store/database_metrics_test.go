package store_test

import (
	"context"
	"testing"
	"time"

	"aanet/store/storetest"

	"github.com/prometheus/client_golang/prometheus"
)

func TestWatchDatabase(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	before := time.Now()
	b.exec("begin isolation level repeatable read")
	b.exec("select 1") // takes the snapshot that everything waits for
	started := time.Now()
	time.Sleep(50 * time.Millisecond)

	reg := prometheus.NewRegistry()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { b.WatchDatabase(ctx, reg); close(ended) }()
	figures := gather(t, reg)
	for deadline := started.Add(time.Minute); figures["aanet_database_up"] != 1; figures = gather(t, reg) {
		if time.Now().After(deadline) {
			t.Fatal("the database was not looked at")
		}
		time.Sleep(5 * time.Millisecond)
	}
	figures = gather(t, reg)
	if age := figures["aanet_database_oldest_snapshot_seconds"]; age < 0.05 || age > time.Since(before).Seconds()+0.1 {
		t.Errorf("the oldest snapshot is %v seconds old, it was taken %v ago", age, time.Since(started))
	}
	if size := figures["aanet_database_size_bytes"]; size < 1e6 {
		t.Errorf("the database has %v bytes", size)
	}
	if sessions := figures["aanet_database_sessions"]; sessions < 2 {
		t.Errorf("%v sessions", sessions)
	}
	stop()
	<-ended
}

func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]float64{}
	for _, f := range families {
		figures[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return figures
}
