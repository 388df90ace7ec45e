// Package jobs does the service's maintenance in the background with River, a job queue in Postgres:
// one process at a time is its leader and plans the periodic jobs, any process works on them. Jobs only
// clean up: what a caller may see never waits for one.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"aanet/store"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

const (
	queueName      = "maintenance"
	queueWorkers   = 4
	poolSize       = 6 // connections, one of which listens
	connectTimeout = 3 * time.Second
	retryPause     = time.Second // between two tries to start while the database is away
)

// Options are what Start needs.
type Options struct {
	URL   string // a DSN that leads to Postgres itself: River listens on its connection
	Store *store.Store
	Log   *slog.Logger
	// Reconcile decides open deposits; it may run in several processes at once. Nil: no deposits are taken.
	Reconcile func(context.Context) error
}

// Jobs are the background jobs of this process.
type Jobs struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	log     *slog.Logger
	stop    context.CancelFunc
	started chan struct{} // closed when the client runs, or never will
}

// Start begins the background work and returns at once. A database that is away, or has no job tables
// yet (Migrate), is no failure: Start goes on trying until it is there. When ctx ends no further job is
// begun; Stop is needed all the same.
func Start(ctx context.Context, o Options) (*Jobs, error) {
	log := slog.New(newDamped(o.Log.Handler()))
	return start(ctx, o.URL, log, choresOf(o.Store, log), o.Reconcile)
}

func start(ctx context.Context, url string, log *slog.Logger, do chores, reconcile func(context.Context) error) (*Jobs, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	config.MaxConns = poolSize
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.ConnConfig.RuntimeParams["application_name"] = "aanet jobs"
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "20000"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	workers := river.NewWorkers()
	plan := []*river.PeriodicJob{
		add[ExpireTrials](workers, do.expire.every, do.expire.run),
		add[FreeWorkspaces](workers, do.free.every, do.free.run),
		add[TidyWebhooks](workers, do.tidy.every, do.tidy.run),
		add[ForgetAnswers](workers, do.forget.every, do.forget.run),
		add[RollUp](workers, do.rollUp.every, do.rollUp.run),
		add[ForgetRollups](workers, do.forgetRollups.every, do.forgetRollups.run),
	}
	if reconcile != nil {
		deposits := reconcileDeposits(reconcile)
		plan = append(plan, add[ReconcileDeposits](workers, deposits.every, deposits.run))
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: schemaName,
		Logger: log,
		Queues: map[string]river.QueueConfig{queueName: {MaxWorkers: queueWorkers}},
		// River's defaults let ten jobs a second through and rescue those of a killed process after an hour.
		FetchCooldown:               20 * time.Millisecond,
		FetchPollInterval:           time.Second,
		JobTimeout:                  time.Minute,
		RescueStuckJobsAfter:        3 * time.Minute,
		SoftStopTimeout:             15 * time.Second,
		CompletedJobRetentionPeriod: 24 * time.Hour,
		Workers:                     workers,
		PeriodicJobs:                plan,
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("job queue: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	j := &Jobs{pool: pool, client: client, log: log, stop: stop, started: make(chan struct{})}
	go j.start(ctx)
	return j, nil
}

// add has run do the work of the job T, and plans it. There is never more than one job of a kind that waits or runs; one
// that failed is not retried, the next period is.
func add[T river.JobArgs](workers *river.Workers, every time.Duration, run func(context.Context) error) *river.PeriodicJob {
	var args T
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[T]) error { return run(ctx) }))
	opts := river.InsertOpts{Queue: queueName, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
		rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	}}}
	return river.NewPeriodicJob(river.PeriodicInterval(every),
		func() (river.JobArgs, *river.InsertOpts) { return args, &opts },
		&river.PeriodicJobOpts{ID: args.Kind(), RunOnStart: true})
}

// start tries to start the client until it runs or ctx ends.
func (j *Jobs) start(ctx context.Context) {
	defer close(j.started)
	for {
		err := j.client.Start(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		j.log.WarnContext(ctx, "background jobs wait for the database", "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryPause):
		}
	}
}

// Stop begins no further job and waits for those at work; after 15 seconds they are told to end. When
// ctx ends before they do its error is returned: the process should then exit, and what was left is
// taken up by another one.
func (j *Jobs) Stop(ctx context.Context) error {
	j.stop()
	select {
	case <-j.started:
	case <-ctx.Done():
		return fmt.Errorf("background jobs are still starting: %w", ctx.Err())
	}
	if err := j.client.Stop(ctx); err != nil {
		return fmt.Errorf("background jobs are still at work: %w", err)
	}
	j.pool.Close()
	return nil
}
