package rest_test

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/rest"
	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
	"aanet/store/storetest"
	"aanet/webhooks"

	"github.com/prometheus/client_golang/prometheus"
)

// stage is the service that the story is played at.
type stage struct {
	*apitest.World
	bank     *apitest.Bank
	receiver *httptest.Server
	guard    *webhooks.Guard
	sealer   *webhooks.Sealer
}

func (e *examples) open(limits api.Limits, bank *apitest.Bank) (*stage, *exampleDoor) {
	s := &stage{bank: bank, sealer: webhooks.EphemeralSealer()}
	s.guard = webhooks.NewGuard(webhooks.GuardOptions{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	s.receiver = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	e.t.Cleanup(s.receiver.Close)
	door := &exampleDoor{}
	o := apitest.Options{
		Limits: limits, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Webhooks: api.WebhookConfig{Guard: s.guard, Sealer: s.sealer},
		Door: func(t testing.TB, service *api.Service) apitest.Door {
			server := httptest.NewServer(rest.New(service, rest.Options{
				PublicURL: "https://aanet.example", Log: slog.New(slog.DiscardHandler), Metrics: api.NewMetrics(prometheus.NewRegistry()),
				Version: "test", Ready: func(context.Context) error { return nil },
			}))
			t.Cleanup(server.Close)
			door.url = server.URL
			return apitest.Direct(t, service)
		},
	}
	if bank != nil {
		o.Deposits = bank.Engine
	}
	s.World = apitest.New(e.t, o)
	return s, door
}

// play is the story, in the order in which an orchestrator meets the operations.
func (e *examples) play() {
	s, stranger := e.open(api.DefaultLimits(), apitest.NewBank(e.t, time.Now, time.Minute))
	e.say(stranger, 200, "get_pricing", nil)
	e.say(stranger, 200, "estimate_savings", apitest.Args{"agents": 10, "rounds_per_agent": 20})
	e.say(stranger, 401, "get_remaining_balance", nil)
	e.say(stranger, 201, "create_trial_workspace", nil)
	made := e.say(stranger, 201, "create_workspace", apitest.Args{"label": "research swarm"})
	owner := stranger.as(made["workspace_id"].(string), made["owner_key"].(string))
	e.deposits(s, owner)
	a, b, one := e.keys(owner)
	e.files(owner, a)
	e.locks(owner, a, b)
	e.messages(a, b)
	e.webhooks(s, owner)
	e.accounts(owner, a, b, one)
	e.refunds(s, owner)
	e.poor(s, stranger)
	e.closed(stranger)
}

func (e *examples) deposits(s *stage, owner *exampleDoor) {
	pay := func(usd string, units billing.Units) apitest.Args {
		return apitest.Args{"amount_usd": usd, "payment_signature": s.bank.Proof(e.t, apitest.Base, units).Encode()}
	}
	five := pay("5", 5*billing.PerUSD)
	e.say(owner, 200, "deposit", five)
	e.say(owner, 402, "deposit", apitest.Args{"amount_usd": "5"})
	e.say(owner, 409, "deposit", five)
	s.bank.Facilitator.On("verify", facilitatortest.Invalid("insufficient_funds"))
	e.say(owner, 422, "deposit", pay("1", billing.PerUSD))
	s.bank.Facilitator.On("verify", facilitatortest.Status(502))
	e.say(owner, 502, "deposit", pay("1", billing.PerUSD))
	s.bank.Facilitator.On("verify")
	other := e.say(owner, 201, "create_workspace", apitest.Args{"label": "with an open deposit"})
	open := owner.as(other["workspace_id"].(string), other["owner_key"].(string))
	s.bank.Facilitator.On("settle", facilitatortest.Reset)
	e.say(open, 503, "deposit", pay("1", billing.PerUSD))
	e.say(open, 409, "delete_workspace", nil)
	s.bank.Facilitator.On("settle")
}

func (e *examples) keys(owner *exampleDoor) (a, b *exampleDoor, one string) {
	made := e.say(owner, 201, "mint_subkey", apitest.Args{"label": "agent one", "path_scope_prefix": "tasks", "budget_cap": 5000, "spend_limit_per_hour": 1000})
	second := e.say(owner, 201, "mint_subkey", apitest.Args{"label": "agent two", "idempotency_key": "mint-agent-two"})
	e.say(owner, 409, "mint_subkey", apitest.Args{"label": "another", "idempotency_key": "mint-agent-two"})
	one = made["subkey_id"].(string)
	rotated := e.say(owner, 200, "rotate_key", apitest.Args{"subkey_id": one, "immediate": true})
	return owner.as(owner.workspace, rotated["key"].(string)), owner.as(owner.workspace, second["key"].(string)), one
}

func (e *examples) files(owner, a *exampleDoor) {
	first := e.say(a, 201, "write_file", apitest.Args{"path": "tasks/42.md", "content": "# Task 42\n\nFound three sources.\n"})
	e.say(a, 200, "write_file", apitest.Args{"path": "tasks/42.md", "content": "# Task 42\n\nDone.\n", "if_match": first["etag"]})
	e.say(a, 409, "write_file", apitest.Args{"path": "tasks/42.md", "content": "late", "if_match": first["etag"]})
	e.say(a, 201, "append_file", apitest.Args{"path": "tasks/log.txt", "content": "42 done\n", "idempotency_key": "log-42"})
	e.say(a, 200, "append_file", apitest.Args{"path": "tasks/log.txt", "content": "43 begun\n"})
	e.say(a, 200, "read_file", apitest.Args{"path": "tasks/42.md"})
	e.say(a, 404, "read_file", apitest.Args{"path": "tasks/43.md"})
	e.say(a, 403, "read_file", apitest.Args{"path": "secrets.md"})
	e.say(a, 409, "write_file", apitest.Args{"path": "tasks", "content": "x"})
	e.say(a, 409, "write_file", apitest.Args{"path": "tasks/42.md/notes", "content": "x"})
	e.say(a, 413, "write_file", apitest.Args{"path": "tasks/big", "content": strings.Repeat("x", api.FileBytesMax+1)})
	e.say(a, 415, "write_file", apitest.Args{"path": "tasks/42.md", "content": "x"}, "Content-Type: text/plain")
	e.say(a, 431, "read_file", apitest.Args{"path": "tasks/42.md"}, "X-Wide: "+strings.Repeat("x", api.HeaderBytesMax))
	e.say(a, 422, "write_file", apitest.Args{"path": "tasks//42.md", "content": 7})
	e.say(a, 200, "delete_file", apitest.Args{"path": "tasks/log.txt"})
	e.strange(owner)
}

// strange are the refusals that only a wrong request meets.
func (e *examples) strange(owner *exampleDoor) {
	for _, c := range []struct{ method, path, body string }{{"PATCH", "/v1/balance", ""}, {"POST", "/v1/feedback", "{"}} {
		r, err := http.NewRequestWithContext(e.t.Context(), c.method, owner.url+c.path, strings.NewReader(c.body))
		if err != nil {
			e.t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + owner.key}, "Content-Type": {"application/json"}}
		s := service{t: e.t}
		a := s.do(r)
		e.keep(nil, nil, &http.Response{Header: a.header, StatusCode: a.status}, []byte(a.body))
	}
}

func (e *examples) locks(owner, a, b *exampleDoor) {
	lease := apitest.Args{"name": "tasks/42", "lease_seconds": 60}
	e.say(a, 200, "acquire_lock", lease)
	e.say(b, 409, "acquire_lock", lease)
	e.say(a, 200, "renew_lock", lease)
	e.say(b, 403, "renew_lock", lease)
	e.say(b, 200, "get_lock_status", apitest.Args{"name": "tasks/42"})
	e.say(b, 200, "list_locks", nil)
	e.say(a, 409, "write_file", apitest.Args{"path": "tasks/42.md", "content": "x", "lock_name": "tasks/42", "fencing_token": 7})
	e.say(a, 200, "release_lock", apitest.Args{"name": "tasks/42"})
}

func (e *examples) messages(a, b *exampleDoor) {
	e.say(a, 201, "send_message", apitest.Args{"body": "Task 42 is done, see tasks/42.md.", "topic": "results"})
	e.say(b, 200, "get_messages", apitest.Args{"topic": "results", "wait_seconds": 20})
	e.say(b, 200, "wait", apitest.Args{"after": 0, "types": "message", "wait_seconds": 20})
}

func (e *examples) webhooks(s *stage, owner *exampleDoor) {
	args := apitest.Args{"url": s.receiver.URL + "/aanet", "events": []string{"file_write", "message"}}
	id := e.say(owner, 201, "register_webhook", args)["webhook_id"]
	hook := apitest.Args{"webhook_id": id}
	roots := x509.NewCertPool()
	roots.AddCert(s.receiver.Certificate())
	engine, err := webhooks.Start(e.t.Context(), webhooks.Options{
		Store: s.Store, Guard: s.guard, Sealer: s.sealer, Roots: roots, Retry: []time.Duration{time.Second},
		Price: int64(billing.WebhookAttempt), Registerer: prometheus.NewRegistry(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.say(owner, 200, "ping_webhook", hook)
	workspace := apitest.Args{"webhook_id": id}
	delivered := ""
	for range 400 {
		reply := s.Door.Call(e.t, "get_webhook_deliveries", owner.key, owner.workspace, workspace)
		if rows := reply.Rows(); len(rows) == 1 && rows[0]["success"] == true {
			delivered = rows[0]["delivery_id"].(string)
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	if err := engine.Stop(e.t.Context()); err != nil || delivered == "" {
		e.t.Fatalf("the ping was not delivered (%v)", err)
	}
	e.say(owner, 200, "get_webhook_deliveries", hook)
	e.say(owner, 200, "redeliver_events", apitest.Args{"webhook_id": id, "delivery_id": delivered})
	e.say(owner, 200, "rotate_webhook_secret", hook)
	e.say(owner, 200, "list_webhooks", nil)
	storetest.Exec(e.t, s.DSN, `with gone as (
		update webhooks set active = false, disabled_reason = 'failing', due_at = null where workspace_id = $1)
		update workspaces set webhooks = 0 where workspace_id = $1`, owner.workspace) // what ten failed attempts do
	e.say(owner, 409, "ping_webhook", hook)
	e.say(owner, 200, "enable_webhook", hook)
	for range 4 {
		e.say(owner, 201, "register_webhook", args)
	}
	e.say(owner, 409, "register_webhook", args)
	e.say(owner, 200, "delete_webhook", hook)
}

func (e *examples) accounts(owner, a, b *exampleDoor, one string) {
	e.say(a, 201, "submit_feedback", apitest.Args{"category": "feature", "title": "Bigger files", "description": "1 MiB is little for our logs.", "pledged_budget_usd": "20"})
	e.say(a, 200, "get_remaining_balance", nil)
	e.say(a, 403, "get_activity", nil)
	e.say(owner, 200, "get_activity", apitest.Args{"operation": "APPEND_FILE", "limit": 2})
	e.say(owner, 200, "get_activity_summary", apitest.Args{"group_by": "operation"})
	e.say(owner, 200, "get_forecast", nil)
	e.say(owner, 200, "get_workspace", nil)
	e.say(owner, 200, "update_subkey", apitest.Args{"subkey_id": one, "spend_limit_per_hour": 1})
	e.say(a, 402, "append_file", apitest.Args{"path": "tasks/log.txt", "content": "x"})
	e.say(owner, 200, "update_subkey", apitest.Args{"subkey_id": one, "budget_cap": 60, "clear": []string{"spend_limit_per_hour"}})
	e.say(a, 402, "append_file", apitest.Args{"path": "tasks/log.txt", "content": "x"})
	e.say(owner, 200, "revoke_subkey", apitest.Args{"subkey_id": one})
	e.say(owner, 409, "update_subkey", apitest.Args{"subkey_id": one, "budget_cap": 90})
	e.say(owner, 200, "list_subkeys", nil)
}

func (e *examples) refunds(s *stage, owner *exampleDoor) {
	wallet := apitest.Args{"network": "base", "destination_address": "0x857b06519e91e3a54538791bdbb0e22373e36b66"}
	e.say(owner, 201, "request_refund", wallet)
	e.say(owner, 409, "request_refund", wallet)
	e.say(owner, 200, "get_refund_status", nil)
	e.say(owner, 409, "delete_workspace", nil)
	e.say(owner, 402, "send_message", apitest.Args{"body": "The balance is reserved for the refund."})
}

// poor are workspaces that may not do all: a trial, and a blocked one that is deleted.
func (e *examples) poor(s *stage, stranger *exampleDoor) {
	made := e.say(stranger, 201, "create_trial_workspace", nil)
	e.say(stranger.as(made["workspace_id"].(string), made["owner_key"].(string)), 403, "deposit", apitest.Args{"amount_usd": "1"})
	ws := s.Workspace(e.t, 0)
	ws.Block(e.t, true)
	e.say(stranger.as(ws.ID, ws.Owner.Key), 403, "write_file", apitest.Args{"path": "a", "content": "x"})
	e.say(stranger.as(ws.ID, ws.Owner.Key), 200, "delete_workspace", nil)
}

// closed is a service that takes no deposits and one new workspace an hour.
func (e *examples) closed(_ *exampleDoor) {
	_, stranger := e.open(api.Limits{CreatePerHour: 1}, nil)
	made := e.say(stranger, 201, "create_workspace", apitest.Args{"label": "the only one"})
	e.say(stranger, 429, "create_workspace", apitest.Args{"label": "one too many"})
	e.say(stranger.as(made["workspace_id"].(string), made["owner_key"].(string)), 503, "deposit", apitest.Args{"amount_usd": "1"})
}
