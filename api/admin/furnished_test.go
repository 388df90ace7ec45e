package admin_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/admin"
	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
	"aanet/store/storetest"
)

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

// furnished is a house with one of everything that an operator decides, made by a tenant who writes nothing but evil.
type furnished struct {
	*house
	ws                                 *apitest.Workspace
	refund, deposit, webhook, feedback uuid.UUID
	chain                              *apitest.Chain
}

// furnish makes it. The chain covers nothing until it is told something.
func furnish(t *testing.T, change func(*house, *admin.Options)) *furnished {
	t.Helper()
	bank := apitest.NewBank(t, time.Now, time.Minute)
	f := &furnished{chain: bank.Chain}
	options := apitest.Options{Log: slog.New(slog.DiscardHandler), Deposits: func(s *store.Store) *deposits.Engine { return bank.Engine(s) }}
	f.house = openWith(t, options, func(h *house, o *admin.Options) {
		o.Refunds.Evidence, o.Deposits.Evidence = bank.Chain, bank.Chain
		if change != nil {
			change(h, o)
		}
	})
	f.ws = f.Labelled(t, evil, 1_000_000)
	f.ws.Owner.OK(t, "mint_subkey", apitest.Args{"label": evil})
	f.webhook = uuid.MustParse(f.ws.Owner.OK(t, "register_webhook", apitest.Args{"url": "https://93.184.216.34/hook%22%3E%3Cimg?q=javascript:alert(1)", "events": []string{"message"}}).Text("webhook_id"))
	f.feedback = uuid.MustParse(f.ws.Owner.OK(t, "submit_feedback", apitest.Args{
		"category": "feature", "title": evil, "description": "javascript:alert(3)\n" + evil, "pledged_budget_usd": "250",
	}).Text("feedback_id"))
	f.refund = f.askBack(t)
	bank.Facilitator.On("settle", facilitatortest.Pending)
	proof := bank.Proof(t, apitest.Base, billing.PerUSD).Encode()
	if r := f.Door.Call(t, "deposit", f.ws.Owner.Key, f.ws.ID, apitest.Args{"amount_usd": "1", "payment_signature": proof}); r.Code != "PAYMENT_UNSETTLED" {
		t.Fatalf("the deposit is answered %d %s", r.Status, r.Code)
	}
	open, err := f.Store.OpenDeposits(t.Context(), store.Deposit{}, 1)
	if err != nil || len(open) != 1 || open[0].State != store.DepositUnknown {
		t.Fatalf("no deposit is unknown: %+v %v", open, err)
	}
	f.deposit = open[0].ID
	return f
}

// askBack asks for the balance back.
func (f *furnished) askBack(t *testing.T) uuid.UUID {
	t.Helper()
	r := f.ws.Owner.OK(t, "request_refund", apitest.Args{"network": "base", "destination_address": wallet})
	return uuid.MustParse(r.Text("refund_id"))
}

// hash is a transaction that nothing else in these tests has.
func transaction() string {
	return "0x" + strings.ReplaceAll(uuid.NewString()+uuid.NewString(), "-", "")
}

// acts reads the newest rows of the audit log about a subject.
func (h *house) acts(t *testing.T, subject string) []store.AuditRow {
	t.Helper()
	rows, err := h.Store.Audit(t.Context(), store.AuditFilter{Subject: subject, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// fingerprint is the same as long as nothing in any table of ours has changed, one table a line.
func (h *house) fingerprint(t *testing.T) []string {
	t.Helper()
	text := storetest.Text(t, h.DSN, `
		select string_agg(tablename || ' ' || (xpath('//md5/text()', query_to_xml(
			format('select md5(coalesce(string_agg(t::text, chr(10) order by t::text), '''')) as md5 from public.%I t', tablename), false, true, '')))[1]::text,
			chr(10) order by tablename)
		  from pg_tables where schemaname = 'public'`)
	return strings.Split(text, "\n")
}

func mustID(t *testing.T, text string) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
