package store

import (
	"context"
	"fmt"

	"aanet/store/schema"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Options are what Open needs.
type Options struct {
	URL          string // a Postgres DSN
	Lanes        int    // connections for calls of tenants
	PoolSize     int32  // connections for lists and operators
	Registerer   prometheus.Registerer
	RefusalRate  float64 // refusal rows a second and workspace; 0 means no limit
	RefusalBurst float64
}

// Store is the database as the service sees it.
type Store struct {
	lanes   *Lanes
	pool    *pgxpool.Pool
	waiters *waiters
}

// Open prepares the lanes and the pool. It does not wait for the database.
func Open(ctx context.Context, o Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	config.MaxConns = o.PoolSize
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.ConnConfig.RuntimeParams["application_name"] = "aanet pool"
	config.ConnConfig.RuntimeParams["statement_timeout"] = "5000"
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "20000"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	laneConfig := config.ConnConfig.Copy()
	laneConfig.RuntimeParams["aanet.refusal_rate"] = fmt.Sprint(o.RefusalRate)
	laneConfig.RuntimeParams["aanet.refusal_burst"] = fmt.Sprint(o.RefusalBurst)
	replica, err := uuid.NewRandom()
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("name of this replica: %w", err)
	}
	s := &Store{lanes: OpenLanes(laneConfig, o.Lanes, newLaneMetrics(o.Registerer)), pool: pool, waiters: newWaiters(replica, pool)}
	s.lanes.hub.told = s.waiters.tellAhead
	s.Subscribe(s.waiters.changed)
	o.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "aanet_waiting_calls", Help: "Calls and streams that wait in this process.",
	}, func() float64 { return float64(s.Waiting()) }))
	return s, nil
}

// Close ends the waiting, the lanes (calls already queued are answered until ctx ends) and the pool.
func (s *Store) Close(ctx context.Context) error {
	s.waiters.close()
	err := s.lanes.Close(ctx)
	s.waiters.forget(ctx)
	s.pool.Close()
	return err
}

// Do makes one call of a tenant on its lane; see Lanes.Do.
func (s *Store) Do(ctx context.Context, c Call) (Result, error) { return s.lanes.Do(ctx, c) }

// Ready tells whether the database answers and has the schema that this program needs.
func (s *Store) Ready(ctx context.Context) error {
	_, err := schema.Version(ctx, s.pool)
	return err
}
