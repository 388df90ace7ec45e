package apitest

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/billing/deposits"
	"aanet/store"
	"aanet/store/storetest"
)

// Options change what a world is like. The zero value has no rate limits and trials of 24 hours.
type Options struct {
	Door         DoorMaker     // Direct by default
	Limits       api.Limits    // none by default
	TrialTTL     time.Duration // 24 hours by default
	RefusalRate  float64       // refusal rows a second; 0 means no limit
	RefusalBurst float64
	Clock        func() time.Time // of the rate limits
	Log          *slog.Logger     // discarded by default
	Webhooks     api.WebhookConfig
	Notes        bool                                // replicas tell each other of commits at once
	Deposits     func(*store.Store) *deposits.Engine // none are taken by default
}

// World is one replica of the service on a database.
type World struct {
	Door    Door
	Service *api.Service
	Store   *store.Store
	DSN     string

	options Options
	shift   time.Duration // how far this replica's sessions are ahead of the database's clock
}

// New makes a world on a database of its own.
func New(t testing.TB, o Options) *World {
	t.Helper()
	return open(t, storetest.Database(t), o, 0)
}

// Replica is a second service on the same database.
func (w *World) Replica(t testing.TB) *World {
	t.Helper()
	return open(t, w.DSN, w.options, w.shift)
}

// Later is a replica for which it is later by that much.
func (w *World) Later(t testing.TB, by time.Duration) *World {
	t.Helper()
	return open(t, w.DSN, w.options, w.shift+by)
}

func open(t testing.TB, dsn string, o Options, shift time.Duration) *World {
	t.Helper()
	if o.Door == nil {
		o.Door = Direct
	}
	if o.TrialTTL == 0 {
		o.TrialTTL = 24 * time.Hour
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Time{} } // nothing is limited, so it need not go
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(failures{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	s, err := store.Open(t.Context(), store.Options{
		URL: shifted(t, dsn, shift), Lanes: 2, PoolSize: 2, Registerer: prometheus.NewRegistry(),
		RefusalRate: o.RefusalRate, RefusalBurst: o.RefusalBurst,
	})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if o.Notes {
		stop, err := s.StartNotifier(t.Context(), dsn, o.Log)
		if err != nil {
			t.Fatalf("start the notifier: %v", err)
		}
		t.Cleanup(stop)
	}
	config := api.Config{TrialTTL: o.TrialTTL, Limits: o.Limits, Webhooks: o.Webhooks, PublicURL: "https://aanet.example"}
	if o.Deposits != nil {
		config.Deposits = o.Deposits(s)
	}
	service := api.NewService(s, config, o.Clock, o.Log)
	return &World{Door: o.Door(t, service), Service: service, Store: s, DSN: dsn, options: o, shift: shift}
}

// shifted is the database as sessions see it for which it is later by that much.
func shifted(t testing.TB, dsn string, by time.Duration) string {
	t.Helper()
	if by == 0 {
		return dsn
	}
	setting := by.String()
	if !strings.Contains(dsn, "://") {
		return dsn + " aanet.clock_shift='" + setting + "'"
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("database url: %v", err)
	}
	query := u.Query()
	query.Set("aanet.clock_shift", setting)
	u.RawQuery = query.Encode()
	return u.String()
}

// failures turns what the service logs as an error into a failure of the test: no story may cause one.
type failures struct{ t testing.TB }

func (f failures) Write(line []byte) (int, error) {
	f.t.Errorf("the service logged: %s", line)
	return len(line), nil
}

// Workspace is one tenant with its owner key.
type Workspace struct {
	*World
	ID    string
	Owner Agent

	funds *funds
}

// funds is what came into a workspace from outside; replicas share it.
type funds struct {
	sync.Mutex
	units int64
}

// Workspace makes a workspace with so many units.
func (w *World) Workspace(t testing.TB, units int64) *Workspace {
	t.Helper()
	return w.Labelled(t, "a story", units)
}

// Labelled makes a workspace with a label of its own.
func (w *World) Labelled(t testing.TB, label string, units int64) *Workspace {
	t.Helper()
	made := w.Anyone(t, "create_workspace", Args{"label": label})
	ws := w.workspace(made)
	if units > 0 {
		ws.Credit(t, units)
	}
	return ws
}

// Trial makes a trial workspace.
func (w *World) Trial(t testing.TB) *Workspace {
	t.Helper()
	ws := w.workspace(w.Anyone(t, "create_trial_workspace", nil))
	ws.funds.units = int64(api.TrialGrant)
	return ws
}

func (w *World) workspace(made Reply) *Workspace {
	ws := &Workspace{World: w, ID: made.Text("workspace_id"), funds: &funds{}}
	ws.Owner = Agent{ws: ws, Key: made.Text("owner_key")}
	return ws
}

// Anyone makes a call without a key, which must succeed.
func (w *World) Anyone(t testing.TB, tool string, args Args) Reply {
	t.Helper()
	r := w.Door.Call(t, tool, "", "", args)
	if r.Code != "" || r.Status >= 300 {
		t.Errorf("%s: %d %s %v", tool, r.Status, r.Code, r.Body)
	}
	return r
}

// On is the same workspace as another replica serves it.
func (ws *Workspace) On(w *World) *Workspace {
	there := &Workspace{World: w, ID: ws.ID, funds: ws.funds}
	there.Owner = ws.Owner.On(there)
	return there
}

// Later is the workspace as it is seen when that much time has passed.
func (ws *Workspace) Later(t testing.TB, by time.Duration) *Workspace {
	t.Helper()
	return ws.On(ws.World.Later(t, by))
}

// Operator is who acts in stories.
var Operator = store.Act{By: "operator@aanet.example", Reason: "a story"}

// Credit adds units as the operator does.
func (ws *Workspace) Credit(t testing.TB, units int64) {
	t.Helper()
	if err := ws.Store.Credit(t.Context(), Operator, uuid.MustParse(ws.ID), uuid.New(), units, true); err != nil {
		t.Errorf("credit: %v", err)
	}
	ws.funds.Lock()
	defer ws.funds.Unlock()
	ws.funds.units += units
}

// Funded tells the story's ledger of money that came from outside otherwise, or left (negative).
func (ws *Workspace) Funded(units int64) {
	ws.funds.Lock()
	defer ws.funds.Unlock()
	ws.funds.units += units
}

// Block blocks the workspace as the operator does, or ends that.
func (ws *Workspace) Block(t testing.TB, blocked bool) {
	t.Helper()
	if err := ws.Store.Block(t.Context(), Operator, uuid.MustParse(ws.ID), blocked); err != nil {
		t.Errorf("block: %v", err)
	}
}
