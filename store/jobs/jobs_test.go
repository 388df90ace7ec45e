package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/store"
	"aanet/store/jobs"
	"aanet/store/storetest"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// world is a database with the service on it; its jobs are started by each test.
type world struct {
	t       *testing.T
	dsn     string
	sql     *pgx.Conn // to another database of the server, so that this one can be taken away
	name    string
	store   *store.Store
	service *api.Service
	log     apitest.Transcript
}

// newWorld has the job tables when migrated is set; its trials live as long as ttl.
func newWorld(t *testing.T, migrated bool, ttl time.Duration) *world {
	t.Helper()
	w := &world{t: t, dsn: storetest.Database(t)}
	var err error
	if w.sql, err = pgx.Connect(t.Context(), storetest.URL(t)); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(w.dsn)
	if err != nil {
		t.Fatal(err)
	}
	w.name = config.Database
	if migrated {
		if err := jobs.Migrate(t.Context(), w.dsn, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	w.store, err = store.Open(t.Context(), store.Options{URL: w.dsn, Lanes: 2, PoolSize: 4, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	w.service = api.NewService(w.store, api.Config{TrialTTL: ttl}, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(w.store.Close(ctx), w.sql.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return w
}

// work starts jobs at the interval of a second.
func (w *world) work() *jobs.Jobs {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	j, err := jobs.StartEvery(w.t.Context(), jobs.Options{URL: w.dsn, Store: w.store, Log: log}, time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.stop(j) })
	return j
}

// stop may be called again.
func (w *world) stop(j *jobs.Jobs) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := j.Stop(ctx); err != nil {
		w.t.Errorf("stop: %v\n%s", err, w.log.String())
	}
}

func (w *world) admin(format string, args ...any) {
	w.t.Helper()
	if _, err := w.sql.Exec(w.t.Context(), fmt.Sprintf(format, args...)); err != nil {
		w.t.Fatal(err)
	}
}

// takeAway refuses new connections and ends those there are; giveBack ends that.
func (w *world) takeAway() {
	w.t.Helper()
	w.admin("alter database %s allow_connections false", w.name)
	w.admin("select pg_terminate_backend(pid) from pg_stat_activity where datname = '%s'", w.name)
}

func (w *world) giveBack() {
	w.t.Helper()
	w.admin("alter database %s allow_connections true", w.name)
}

// count reads one number from the world's database.
func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(w.t.Context(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// eventually waits until sql counts want.
func (w *world) eventually(want int, sql string, args ...any) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for got := w.count(sql, args...); got != want; got = w.count(sql, args...) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: still %d, want %d\n%s", sql, got, want, w.log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// tenant is a workspace and its owner key.
type tenant struct {
	w       *world
	id, key string
}

func (w *world) trial() tenant {
	w.t.Helper()
	a := w.service.Call(w.t.Context(), operation(w.t, "create_trial_workspace"), api.Request{})
	made, ok := a.Out.(api.CreateTrialOut)
	if !ok {
		w.t.Fatalf("no trial: %+v", a.Refusal)
	}
	return tenant{w, made.WorkspaceID, made.OwnerKey}
}

func (w *world) paying() tenant {
	w.t.Helper()
	a := w.service.Call(w.t.Context(), operation(w.t, "create_workspace"), api.Request{Input: map[string]any{"label": "paying"}})
	made, ok := a.Out.(api.CreateWorkspaceOut)
	if !ok {
		w.t.Fatalf("no workspace: %+v", a.Refusal)
	}
	if err := w.store.Credit(w.t.Context(), store.Act{By: "cli:test", Reason: "to work with"}, uuid.MustParse(made.WorkspaceID), uuid.New(), 1_000_000, true); err != nil {
		w.t.Fatal(err)
	}
	return tenant{w, made.WorkspaceID, made.OwnerKey}
}

// call answers the code of the refusal, or "".
func (n tenant) call(op *api.Op, input map[string]any) string {
	a := n.w.service.Call(context.Background(), op, api.Request{Credential: n.key, Workspace: &n.id, Input: input})
	if a.Refusal != nil {
		return string(a.Refusal.Code)
	}
	return ""
}

func operation(t *testing.T, name string) *api.Op {
	t.Helper()
	for _, op := range api.Operations() {
		if op.Name == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return nil
}

// sound demands that every workspace's books add up.
func (w *world) sound() {
	w.t.Helper()
	if _, err := w.store.VerifyLedger(w.t.Context(), func(d store.Difference) { w.t.Error(d) }); err != nil {
		w.t.Fatal(err)
	}
}

func TestMigrateByManyAtOnce(t *testing.T) {
	dsn := storetest.Database(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := jobs.Migrate(t.Context(), dsn, slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w := &world{t: t, dsn: dsn}
	if n := w.count("select count(*) from river.river_job"); n != 0 {
		t.Errorf("%d jobs", n)
	}
	if n := w.count("select count(*) from pg_class where relname like 'river%' and relnamespace = 'public'::regnamespace"); n != 0 {
		t.Errorf("%d of River's tables are among ours", n)
	}
}

// A trial ends under its writers: they see success, then UNAUTHENTICATED, and nobody else sees anything.
func TestSweepingBesideTraffic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, 800*time.Millisecond)
	paying := w.paying()
	write, lock, renew, send := operation(t, "write_file"), operation(t, "acquire_lock"), operation(t, "renew_lock"), operation(t, "send_message")
	w.work()
	stop := make(chan struct{})
	var writers, others sync.WaitGroup
	for n := range 3 {
		trial := w.trial()
		writers.Go(func() {
			ended := 0
			for i := 0; ended < 50; i++ { // goes on while the sweeper closes and frees it
				codes := []string{
					trial.call(write, map[string]any{"path": fmt.Sprint("f", i%5), "content": ""}),
					trial.call(lock, map[string]any{"name": "l", "lease_seconds": api.Text("60")}),
					trial.call(renew, map[string]any{"name": "l", "lease_seconds": api.Text("60")}),
					trial.call(send, map[string]any{"body": "hello"}),
				}
				for _, code := range codes {
					switch {
					case code == "UNAUTHENTICATED":
						ended++
					case ended > 0:
						t.Errorf("trial %d: %q after it had ended", n, code)
					case code != "" && code != "INSUFFICIENT_BALANCE":
						t.Errorf("trial %d: %q", n, code)
					}
				}
				time.Sleep(15 * time.Millisecond)
			}
		})
	}
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if code := paying.call(write, map[string]any{"path": fmt.Sprint("f", i%5), "content": "text"}); code != "" {
				t.Errorf("another tenant: %q", code)
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	writers.Wait()
	w.eventually(3, "select count(*) from workspaces where trial_expires_at is not null and freed_at is not null")
	close(stop)
	others.Wait()
	if left := w.count("select count(*) from activity a join workspaces w using (workspace_id) where w.deleted_at is not null"); left != 0 {
		t.Errorf("%d rows of the trials are left", left)
	}
	if closed := w.count("select count(*) from adjustments where kind = 'trial_grant'"); closed != 3 {
		t.Errorf("%d money records of the trials are left", closed)
	}
	w.sound()
}

// Two processes share the work; when the one that plans it leaves, the other goes on.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, time.Millisecond)
	first, _ := w.work(), w.work()
	for range 40 {
		w.trial()
	}
	w.eventually(40, "select count(*) from workspaces where freed_at is not null")
	if n := w.count("select count(*) from adjustments where kind = 'forfeit'"); n != 40 {
		t.Errorf("40 trials were closed %d times", n)
	}
	w.stop(first)
	w.trial()
	w.eventually(41, "select count(*) from workspaces where freed_at is not null")
	// On a busy machine a row may be held for longer than a job waits: the next period does its work.
	failed := w.count(`select count(*) from river.river_job where state in ('discarded', 'cancelled', 'retryable') and array_to_string(errors, ' ') not like $1`,
		"%"+store.ErrUnavailable.Error()+"%")
	if failed != 0 {
		t.Errorf("%d jobs failed:\n%s", failed, w.log.String())
	}
	w.sound()
}

// What webhooks no longer need goes; what they need stays.
func TestWebhooksAreTidied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, time.Hour)
	n := w.paying()
	var ids [3]string
	for i := range ids {
		a := w.service.Call(t.Context(), operation(t, "register_webhook"), api.Request{Credential: n.key, Workspace: &n.id, Input: map[string]any{
			"url": "https://1.1.1.1/", "events": []any{"message"},
		}})
		made, ok := a.Out.(api.RegisterWebhookOut)
		if !ok {
			t.Fatalf("no webhook: %+v", a.Refusal)
		}
		ids[i] = made.WebhookID
	}
	for range 3 {
		n.call(operation(t, "send_message"), map[string]any{"body": "x"})
	}
	const attempt = `insert into webhook_attempts (workspace_id, delivery_id, webhook_id, log_seq, seq, event_type, attempt, started_at)
		select workspace_id, gen_random_uuid(), webhook_id, turn, seq, 'message', 1, now() - $1::interval from webhook_deliveries`
	storetest.Exec(t, w.dsn, attempt, "31 days")
	storetest.Exec(t, w.dsn, attempt, "29 days")
	deleted, disabled := ids[1], ids[2]
	n.call(operation(t, "delete_webhook"), map[string]any{"webhook_id": deleted})
	storetest.Exec(t, w.dsn, `update webhooks set active = false where webhook_id::text = $1`, disabled)
	storetest.Exec(t, w.dsn, `update webhook_deliveries set queued_at = now() - interval '4 days' where turn % 2 = 0`)
	held := w.count(`select count(*) from webhook_deliveries where webhook_id::text = $1 and turn % 2 = 1`, disabled)
	w.work()
	w.eventually(0, `select count(*) from webhooks where deleted_at is not null`)
	w.eventually(0, `select count(*) from webhook_attempts where started_at < now() - interval '30 days'`)
	w.eventually(held, `select count(*) from webhook_deliveries where webhook_id::text = $1`, disabled)
	for sql, want := range map[string]int{
		`select count(*) from webhook_deliveries where webhook_id::text = $1`: 0,
		`select count(*) from webhook_attempts where webhook_id::text = $1`:   0,
	} {
		if got := w.count(sql, deleted); got != want {
			t.Errorf("of the deleted one %d rows are left: %s", got, sql)
		}
	}
	if got := w.count(`select count(*) from webhook_deliveries where webhook_id::text = $1`, ids[0]); got != 3 {
		t.Errorf("%d of 3 deliveries of the active one are left", got)
	}
	if got := w.count(`select count(*) from webhook_attempts`); got != 6 {
		t.Errorf("%d of 6 recent attempts are left", got)
	}
	w.sound()
}
