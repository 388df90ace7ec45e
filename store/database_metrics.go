package store

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	watchPause   = 15 * time.Second
	watchTimeout = 3 * time.Second
)

// databaseMetrics are figures about the database that calls do not show by themselves.
type databaseMetrics struct {
	oldest   prometheus.Gauge
	bytes    prometheus.Gauge
	sessions prometheus.Gauge
	up       prometheus.Gauge
}

func newDatabaseMetrics() *databaseMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return &databaseMetrics{
		oldest:   gauge("aanet_database_oldest_snapshot_seconds", "Age of the oldest transaction that keeps dead rows from being removed; a long one slows every call."),
		bytes:    gauge("aanet_database_size_bytes", "Size of the database on disk."),
		sessions: gauge("aanet_database_sessions", "Connections to the database, of all its clients."),
		up:       gauge("aanet_database_up", "1 when the last look at the database, at most 15 seconds ago, was answered."),
	}
}

// watchSQL looks at the list of connections and at the files' sizes; it reads no table. A prepared
// transaction holds back the horizon like an open one. Transactions of other roles are seen only by a
// role that has pg_read_all_stats.
const watchSQL = `
	select greatest(
	           coalesce((select extract(epoch from max(clock_timestamp() - xact_start)) from pg_stat_activity
	             where (backend_xmin is not null or backend_xid is not null) and datname = current_database() and pid <> pg_backend_pid()), 0),
	           coalesce((select extract(epoch from max(clock_timestamp() - prepared)) from pg_prepared_xacts where database = current_database()), 0))::double precision,
	       pg_database_size(current_database())::double precision,
	       (select count(*) from pg_stat_activity where datname = current_database())::double precision`

// WatchDatabase looks at the database every 15 seconds until ctx ends, and shows in reg how old its
// oldest snapshot is, its size and its connections. Scrapes never reach the database. Like every
// registration it panics when reg has such figures already: call it once.
func (s *Store) WatchDatabase(ctx context.Context, reg prometheus.Registerer) {
	m := newDatabaseMetrics()
	reg.MustRegister(m.oldest, m.bytes, m.sessions, m.up)
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	for {
		s.look(ctx, m)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look refreshes the figures; when the database is away they stay as they were and up says so.
func (s *Store) look(ctx context.Context, m *databaseMetrics) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	var oldest, bytes, sessions float64
	if err := s.pool.QueryRow(ctx, watchSQL).Scan(&oldest, &bytes, &sessions); err != nil {
		m.up.Set(0)
		return
	}
	m.oldest.Set(oldest)
	m.bytes.Set(bytes)
	m.sessions.Set(sessions)
	m.up.Set(1)
}
