package api_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/x402"
	"aanet/billing/x402/facilitatortest"
)

// vault is a world with a bank, as one door shows it.
type vault struct {
	*apitest.World
	bank *apitest.Bank
}

// quietDoors are doors that may answer 5xx, as deposits do when a facilitator fails.
var quietDoors = []struct {
	name string
	make apitest.DoorMaker
}{
	{"direct", apitest.Direct},
	{"rest", func(t testing.TB, s *api.Service) apitest.Door {
		return restLogging(t, s, slog.New(slog.DiscardHandler))
	}},
	{"mcp", func(t testing.TB, s *api.Service) apitest.Door {
		return mcpLogging(t, s, slog.New(slog.DiscardHandler))
	}},
}

// playDeposits plays stories about deposits through each door, each in a world and with a facilitator of its own.
func playDeposits(t *testing.T, stories map[string]func(*testing.T, vault)) {
	t.Helper()
	t.Parallel()
	for _, door := range quietDoors {
		for name, story := range stories {
			t.Run(door.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				bank := apitest.NewBank(t, time.Now, time.Minute)
				story(t, vault{apitest.New(t, apitest.Options{Door: door.make, Deposits: bank.Engine, Log: slog.New(slog.DiscardHandler)}), bank})
			})
		}
	}
}

// proof is a fresh payment of one dollar on Base.
func (v vault) proof(t *testing.T) string {
	t.Helper()
	return v.bank.Proof(t, apitest.Base, billing.PerUSD).Encode()
}

// deposit makes the call whatever comes of it; a 5xx is no failure here.
func deposit(t *testing.T, ws *apitest.Workspace, in args) apitest.Reply {
	t.Helper()
	r := ws.Door.Call(t, "deposit", ws.Owner.Key, ws.ID, in)
	if r.Cost != 0 {
		t.Errorf("a deposit cost %d units", r.Cost)
	}
	return r
}

// pay sends a payment of one dollar, which must be answered with the code ("": credited).
func pay(t *testing.T, ws *apitest.Workspace, signature, code string) apitest.Reply {
	t.Helper()
	r := deposit(t, ws, args{"amount_usd": "1", "payment_signature": signature})
	if r.Code != code {
		t.Errorf("the payment is answered with %d %s %v, want %q", r.Status, r.Code, r.Body, code)
	}
	if code == "" && r.Code == "" {
		ws.Funded(int64(billing.PerUSD))
	}
	return r
}

func TestDeposits(t *testing.T) {
	playDeposits(t, map[string]func(*testing.T, vault){
		"offer": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			before := len(ws.Log(t))
			r := deposit(t, ws, args{"amount_usd": "12.34567"})
			same(t, "status", r.Status, 402)
			accepts, _ := r.Body["accepts"].([]any)
			same(t, "networks", len(accepts), 5)
			for i, n := range x402.Networks() {
				terms, _ := accepts[i].(map[string]any)
				same(t, "network", fmt.Sprint(terms["network"]), n.ID)
				same(t, "amount", terms["amount"], any("12345670"))
			}
			same(t, "rows of the log", len(ws.Log(t)), before)
			same(t, "questions to the facilitator", v.bank.Facilitator.Calls("verify"), 0)
		},
		"credit once": func(t *testing.T, v vault) {
			ws, other := v.Workspace(t, 0), v.Workspace(t, 0)
			signature := v.proof(t)
			r := pay(t, ws, signature, "")
			same(t, "units", r.Int("deposited_units"), 100_000)
			same(t, "workspace", r.Text("workspace_id"), ws.ID)
			same(t, "network", r.Text("network"), apitest.Base)
			same(t, "balance", ws.Balance(t), 100_000)
			if r.Remaining == nil || *r.Remaining != 100_000 {
				t.Errorf("the answer does not tell the new balance: %v", r.Remaining)
			}
			row := ws.Last(t)
			same(t, "row", row.Operation+" "+row.Status, "DEPOSIT OK")
			again := pay(t, ws, signature, "PAYMENT_ALREADY_USED")
			same(t, "transaction", again.Text("tx_hash"), r.Text("tx_hash"))
			stolen := pay(t, other, signature, "PAYMENT_ALREADY_USED")
			if stolen.Body["tx_hash"] != nil {
				t.Errorf("another workspace is told the transaction: %v", stolen.Body)
			}
			same(t, "row", other.Last(t).Status, "PAYMENT_ALREADY_USED")
			same(t, "settles", v.bank.Facilitator.Calls("settle"), 1)
			ws.CheckLedger(t)
			other.CheckLedger(t)
		},
		"repeated under a key": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			in := args{"amount_usd": "1", "payment_signature": v.proof(t), "idempotency_key": "k"}
			offer := deposit(t, ws, args{"amount_usd": "1", "idempotency_key": "k"})
			same(t, "an offer is not kept", offer.Status, 402)
			answers := make([]apitest.Reply, 10)
			apitest.Together(len(answers), func(i int) { answers[i] = deposit(t, ws, in) })
			ws.Funded(int64(billing.PerUSD))
			firsts := 0
			for _, r := range append(answers, deposit(t, ws, in)) {
				if !r.Replayed {
					firsts++
				}
				if r.Code != "" || fmt.Sprint(r.Body) != fmt.Sprint(answers[0].Body) || *r.Remaining != 100_000 {
					t.Errorf("%d %s %v, and %v", r.Status, r.Code, r.Body, answers[0].Body)
				}
			}
			same(t, "firsts", firsts, 1)
			same(t, "settles", v.bank.Facilitator.Calls("settle"), 1)
			same(t, "another payment", deposit(t, ws, args{"amount_usd": "1", "payment_signature": v.proof(t), "idempotency_key": "k"}).Code, "IDEMPOTENCY_CONFLICT")
			same(t, "the same without a key", pay(t, ws, in["payment_signature"].(string), "PAYMENT_ALREADY_USED").Replayed, false)
			late := args{"amount_usd": "1", "payment_signature": in["payment_signature"], "idempotency_key": "late"}
			for range 2 {
				same(t, "under a key that came after it was used", deposit(t, ws, late).Code, "PAYMENT_ALREADY_USED")
			}
			same(t, "so that key is free", ws.Owner.OK(t, "write_file", args{"path": "f", "content": "x", "idempotency_key": "late"}).Replayed, false)
			ws.CheckLedger(t)
		},
		"five networks": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			for _, n := range x402.Networks() {
				r := pay(t, ws, v.bank.Proof(t, n.ID, billing.PerUSD).Encode(), "")
				same(t, "network", r.Text("network"), n.ID)
			}
			same(t, "balance", ws.Balance(t), 500_000)
			ws.CheckLedger(t)
		},
		"ten at once": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			v.bank.Facilitator.On("settle", facilitatortest.Slow(100*time.Millisecond, facilitatortest.Settled))
			signature := v.proof(t)
			var codes tally
			apitest.Together(10, func(int) {
				codes.add(deposit(t, ws, args{"amount_usd": "1", "payment_signature": signature}))
			})
			ws.Funded(100_000)
			codes.want(t, map[string]int{"": 1, "PAYMENT_ALREADY_USED": 9})
			same(t, "settles", v.bank.Facilitator.Calls("settle"), 1)
			same(t, "balance", ws.Balance(t), 100_000)
			ws.CheckLedger(t)
		},
		"who may": func(t *testing.T, v vault) {
			ws, trial := v.Workspace(t, 0), v.Trial(t)
			key := ws.Mint(t)
			signature := v.proof(t)
			for _, in := range []args{{"amount_usd": "1"}, {"amount_usd": "x"}, {"amount_usd": "1", "payment_signature": signature}} {
				key.Refused(t, "OWNER_ONLY", "deposit", in)
				trial.Owner.Refused(t, "TRIAL_NOT_ALLOWED", "deposit", in)
				same(t, "row", trial.Last(t).Status, "TRIAL_NOT_ALLOWED")
			}
			ws.Block(t, true)
			ws.Owner.Refused(t, "WORKSPACE_BLOCKED", "deposit", args{"amount_usd": "1", "payment_signature": signature})
			ws.Block(t, false)
			same(t, "questions to the facilitator", v.bank.Facilitator.Calls("verify"), 0)
			pay(t, ws, signature, "")
		},
	})
}

// TestDepositsThatAreNoPayment has proofs that are refused before anything is sent to settle.
func TestDepositsThatAreNoPayment(t *testing.T) {
	playDeposits(t, map[string]func(*testing.T, vault){
		"malformed": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			for _, signature := range []string{"", "x", "e30=", "{}", strings.Repeat("A", 100_000), "\x00", `{"x402Version":1}`} {
				if len(signature) > 50_000 && strings.HasPrefix(t.Name(), "TestDepositsThatAreNoPayment/rest") {
					continue // sent in the body there
				}
				r := pay(t, ws, signature, "PAYMENT_INVALID")
				if r.Status != 422 || r.Text("reason") == "" {
					t.Errorf("%.20q: %v", signature, r.Body)
				}
			}
			same(t, "row", ws.Last(t).Status, "PAYMENT_INVALID")
			same(t, "verifies", v.bank.Facilitator.Calls("verify"), 0)
		},
		"other terms": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			change := map[string]func(*facilitatortest.Payment){
				"amount accepted": func(p *facilitatortest.Payment) { p.Accepted.Amount = "250000" },
				"payee accepted":  func(p *facilitatortest.Payment) { p.Accepted.PayTo = facilitatortest.Payer },
				"asset":           func(p *facilitatortest.Payment) { p.Accepted.Asset = facilitatortest.Payer },
				"network":         func(p *facilitatortest.Payment) { p.Accepted.Network = "eip155:84532" },
				"scheme":          func(p *facilitatortest.Payment) { p.Accepted.Scheme = "upto" },
				"amount signed":   func(p *facilitatortest.Payment) { p.Authorization()["value"] = "999999" },
				"payee signed":    func(p *facilitatortest.Payment) { p.Authorization()["to"] = facilitatortest.Payer },
				"expired":         func(p *facilitatortest.Payment) { p.Authorization()["validBefore"] = "1700000000" },
				"version":         func(p *facilitatortest.Payment) { p.Version = 1 },
			}
			for name, lie := range change {
				p := v.bank.Proof(t, apitest.Base, billing.PerUSD)
				lie(&p)
				if r := pay(t, ws, p.Encode(), "PAYMENT_INVALID"); t.Failed() {
					t.Fatalf("%s: %v", name, r.Body)
				}
			}
			honest := v.proof(t)
			r := deposit(t, ws, args{"amount_usd": "5", "payment_signature": honest})
			same(t, "paid for another amount", r.Code, "PAYMENT_INVALID")
			same(t, "verifies", v.bank.Facilitator.Calls("verify"), 0)
			pay(t, ws, honest, "")
		},
		"forged first": func(t *testing.T, v vault) {
			ws, thief := v.Workspace(t, 0), v.Workspace(t, 0)
			real := v.bank.Proof(t, apitest.Base, billing.PerUSD)
			v.bank.Facilitator.On("verify", facilitatortest.Invalid("invalid_exact_evm_payload_signature"), facilitatortest.Valid)
			refused := pay(t, thief, real.Encode(), "PAYMENT_INVALID")
			same(t, "reason", refused.Text("reason"), "invalid_exact_evm_payload_signature")
			same(t, "row", thief.Last(t).Status, "PAYMENT_INVALID")
			pay(t, ws, real.Encode(), "")
			thief.Owner.OK(t, "delete_workspace", nil)
		},
		"amounts": func(t *testing.T, v vault) {
			ws := v.Workspace(t, 0)
			for _, amount := range []any{"", "0", "0.24999", "100000.00001", "1e3", "-5", "+5", " 5", "5 ", "1.000000", "$5", "05.5.5", 5, nil, "1,5", ".5", "5.", "0x5"} {
				ws.Owner.Refused(t, "INVALID_ARGUMENT", "deposit", args{"amount_usd": amount})
			}
			for amount, atomic := range map[string]string{"0.25": "250000", "100000": "100000000000", "1.00001": "1000010", "19.20": "19200000"} {
				r := deposit(t, ws, args{"amount_usd": amount})
				terms, _ := r.Body["accepts"].([]any)[0].(map[string]any)
				same(t, amount, terms["amount"], any(atomic))
			}
		},
	})
}
