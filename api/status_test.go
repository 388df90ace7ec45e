package api_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
	"aanet/store/jobs"
	"aanet/store/storetest"

	"github.com/prometheus/client_golang/prometheus"
)

// The state of the service is what the database, the lanes, the jobs and the facilitators show, and tells nothing else.
func TestStatus(t *testing.T) {
	alive, dead := facilitatortest.New(t, "eip155:8453", "eip155:137"), facilitatortest.New(t)
	dead.Close()
	gateway, err := x402.New(x402.Options{
		Facilitators: []x402.Facilitator{{Name: "alive", URL: alive.URL, Timeout: time.Second}, {Name: "dead", URL: dead.URL, Timeout: time.Second}},
		PayTo:        map[string]string{"eip155:8453": apitest.ReceiverEVM, "eip155:42161": apitest.ReceiverEVM}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	gateway.Start(t.Context())
	t.Cleanup(gateway.Stop)
	if !gateway.WaitFirst(t.Context()) {
		t.Fatal("the facilitators were not asked")
	}
	clock := time.Now()
	w := apitest.New(t, apitest.Options{
		Clock: func() time.Time { return clock },
		Deposits: func(s *store.Store) *deposits.Engine {
			return deposits.New(deposits.Options{Store: s, Gateway: gateway, Evidence: &apitest.Chain{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now})
		},
	})
	first := lookAt(t, w, &clock)
	if first.Database.State == api.StateDown || first.Database.Milliseconds == nil || first.Lanes != (api.LanesState{State: api.StateOK, Lanes: 2}) || first.Jobs.State != api.StateUnknown {
		t.Errorf("%+v", first)
	}
	var networks []string
	for _, n := range first.Networks {
		networks = append(networks, n.Name+" "+n.State)
	}
	if got := strings.Join(networks, ", "); got != "Base ok, Polygon off, Arbitrum One down, Avalanche C-Chain off, Solana off" {
		t.Error(got)
	}
	if f := first.Facilitators; len(f) != 2 || f[0].State != api.StateOK || f[0].AnsweredAt == nil || strings.Join(f[0].Networks, " ") != "Base Polygon" || f[1].State != api.StateDown || f[1].AnsweredAt != nil || f[1].AskedAt == nil {
		t.Errorf("%+v", first.Facilitators)
	}
	if first.State != api.StateDegraded { // Arbitrum is offered and cannot be paid on
		t.Error(first.State)
	}
	shown, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{alive.URL, dead.URL, w.DSN} {
		u, err := url.Parse(address)
		if err == nil && u.Host != "" && strings.Contains(string(shown), u.Host) || strings.Contains(string(shown), "refused") {
			t.Errorf("%s tells of %s", shown, address)
		}
	}
}

// What is late or failed shows, at the next look, and not before.
func TestStatusOfDeliveriesAndJobs(t *testing.T) {
	clock := time.Now()
	w := apitest.New(t, apitest.Options{Clock: func() time.Time { return clock }})
	before := lookAt(t, w, &clock)
	if before.Webhooks != (api.WebhooksState{State: api.StateOK}) {
		t.Errorf("%+v", before)
	}
	if err := jobs.Migrate(t.Context(), w.DSN, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, w.DSN, `insert into webhooks (workspace_id, webhook_id, url, events, secret, due_at, failures, payload_version, enabled_at, created_seq, created_at)
		select gen_random_uuid(), gen_random_uuid(), 'https://example.com', '{file_write}', '', aanet_now() - interval '90 seconds', f, 1, aanet_now(), 1, aanet_now() from generate_series(0, 1) f`)
	storetest.Exec(t, w.DSN, `insert into river.river_job (kind, args, max_attempts, state, finalized_at)
		values ('sweep', '{}', 1, 'completed', now() - interval '20 minutes'), ('sweep', '{}', 1, 'discarded', now() - interval '5 minutes')`)
	if got := w.Service.Status(t.Context()); got.Webhooks != before.Webhooks || got.LookedAt != before.LookedAt {
		t.Errorf("looked again at once: %+v", got)
	}
	got := lookAt(t, w, &clock)
	if got.Webhooks.State != api.StateDegraded || got.Webhooks.Due != 1 || got.Webhooks.LagSeconds < 90 {
		t.Errorf("webhooks: %+v", got.Webhooks)
	}
	if got.Jobs.State != api.StateDegraded || got.Jobs.FailedHour != 1 || got.Jobs.LastDone == nil {
		t.Errorf("jobs: %+v", got.Jobs)
	}
	if got.State != api.StateDegraded {
		t.Error(got.State)
	}
}

// Without the database no call is served, and the state says so instead of failing with it.
func TestStatusWithoutDatabase(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{URL: "postgres://nobody@127.0.0.1:1/none", Lanes: 1, PoolSize: 1, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	got := api.NewService(s, api.Config{}, time.Now, slog.New(slog.DiscardHandler)).Status(t.Context())
	if got.State != api.StateDown || got.Database.State != api.StateDown || got.Database.Milliseconds != nil || got.Jobs.State != api.StateUnknown || got.Webhooks.State != api.StateUnknown || got.Waiting.Replicas != nil {
		t.Errorf("%+v", got)
	}
}

// lookAt gives a fresh look. On a machine that does ten other things the database may once take longer than a look waits.
func lookAt(t *testing.T, w *apitest.World, clock *time.Time) (got api.Status) {
	t.Helper()
	for range 20 {
		*clock = clock.Add(3 * time.Second)
		if got = w.Service.Status(t.Context()); got.Database.State != api.StateDown {
			return got
		}
	}
	t.Fatalf("the database never answers: %+v", got)
	return got
}
