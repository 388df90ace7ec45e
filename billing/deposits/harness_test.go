package deposits_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/store"
)

// town is a replica of the service with its bank and the engine that takes the deposits.
type town struct {
	*apitest.World
	bank   *apitest.Bank
	engine *deposits.Engine
	made   **deposits.Engine // the one that the last world got
}

// newTown opens a replica on a database of its own. at is told of every step of every payment.
func newTown(t *testing.T, at func(step string)) *town {
	t.Helper()
	return newTownWithin(t, time.Minute, at)
}

// hanging is how long a facilitator is given that never answers.
const hanging = 3 * time.Second

// patienceFor is how long a facilitator is given for an answer: all that others need, unless it hangs.
func patienceFor(name string) time.Duration {
	if name == "hang" {
		return hanging
	}
	return time.Minute
}

// newTownWithin has a facilitator that is given so long to settle.
func newTownWithin(t *testing.T, patience time.Duration, at func(step string)) *town {
	t.Helper()
	v := &town{bank: apitest.NewBank(t, time.Now, patience), made: new(*deposits.Engine)}
	v.bank.Options.JoinPatience = 100 * time.Millisecond
	v.World = apitest.New(t, apitest.Options{
		Log: slog.New(slog.DiscardHandler),
		Deposits: func(s *store.Store) *deposits.Engine {
			e := v.bank.Engine(s)
			if at != nil {
				e.At(at)
			}
			*v.made = e
			return e
		},
	})
	v.engine = *v.made
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := v.engine.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
	return v
}

// later is the town when everybody's grace is over, served by a process that knows nothing of what was before.
func (v *town) later(t *testing.T) *town {
	t.Helper()
	world := v.World.Later(t, 10*time.Minute)
	return &town{World: world, bank: v.bank, engine: *v.made, made: v.made}
}

// reconcile runs one turn and waits for the settlements that it began.
func (v *town) reconcile(t *testing.T) {
	t.Helper()
	if err := v.engine.Reconcile(t.Context()); err != nil {
		t.Errorf("reconcile: %v", err)
	}
	if err := v.engine.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// pay sends a payment of one dollar; the answer must have the code ("": credited).
func pay(t *testing.T, ws *apitest.Workspace, signature, code string) apitest.Reply {
	t.Helper()
	r := ws.Door.Call(t, "deposit", ws.Owner.Key, ws.ID, apitest.Args{"amount_usd": "1", "payment_signature": signature})
	for tries := 0; r.Code == "FACILITATOR_ERROR" && code != r.Code && tries < 20; tries++ { // nothing was sent: the machine is busy
		r = ws.Door.Call(t, "deposit", ws.Owner.Key, ws.ID, apitest.Args{"amount_usd": "1", "payment_signature": signature})
	}
	if r.Code != code || code == "" && r.Status != 200 {
		t.Errorf("the payment is answered with %d %q %v, want %q", r.Status, r.Code, r.Body, code)
	}
	return r
}

// proof is a fresh payment of one dollar on Base.
func (v *town) proof(t *testing.T) string {
	t.Helper()
	return v.bank.Proof(t, apitest.Base, billing.PerUSD).Encode()
}

// credited checks that exactly one dollar came in, that the payment is used up, and that the books are right.
func credited(t *testing.T, ws *apitest.Workspace, signature, transaction string) {
	t.Helper()
	again := pay(t, ws, signature, "PAYMENT_ALREADY_USED")
	if transaction != "" && again.Text("tx_hash") != transaction {
		t.Errorf("it was credited by %q, want %q", again.Text("tx_hash"), transaction)
	}
	if balance := ws.Balance(t); balance != int64(billing.PerUSD) {
		t.Errorf("the balance is %d", balance)
	}
	ws.Funded(int64(billing.PerUSD))
	ws.CheckLedger(t)
	verify(t, ws)
}

// verify proves the books of all workspaces, as aanet verify ledger does.
func verify(t *testing.T, ws *apitest.Workspace) {
	t.Helper()
	_, err := ws.Store.VerifyLedger(t.Context(), func(d store.Difference) { t.Error(d) })
	if err != nil {
		t.Error(err)
	}
}

// open is the one deposit that is not decided.
func open(t *testing.T, s *store.Store) store.Deposit {
	t.Helper()
	all, err := s.OpenDeposits(t.Context(), store.Deposit{}, 10)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d open deposits, %v", len(all), err)
	}
	return all[0]
}

func mustUUID(t *testing.T, s string) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
