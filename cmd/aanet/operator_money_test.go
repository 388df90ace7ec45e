package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/billing/x402/facilitatortest"
	"aanet/store/storetest"
)

const receiver = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

// takingDeposits are the settings of a service that takes deposits on Base through a facilitator.
func takingDeposits(f *facilitatortest.Server) []string {
	return []string{
		fmt.Sprintf(`AANET_FACILITATORS=[{"name":"test","url":%q,"timeout":"60s"}]`, f.URL),
		fmt.Sprintf(`AANET_PAY_TO={"eip155:8453":%q}`, receiver),
	}
}

// later is the database as it is for sessions for which ten minutes more have passed.
func later(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		t.Fatalf("the database's address is no URL: %v", err)
	}
	query := u.Query()
	query.Set("aanet.clock_shift", "10m0s")
	u.RawQuery = query.Encode()
	return u.String()
}

// signed is a payment of what the service offers for an amount, as a client makes it.
func signed(t *testing.T, p *proc, ws, key, amount string) string {
	t.Helper()
	offer := ask(t, p.url, "POST", "/v1/workspaces/"+ws+"/deposits", key, fmt.Sprintf(`{"amount_usd":%q}`, amount))
	document, err := base64.StdEncoding.DecodeString(offer.header.Get("PAYMENT-REQUIRED"))
	if err != nil || offer.status != 402 {
		t.Fatalf("the offer: %d %s", offer.status, offer.text)
	}
	var required struct{ Accepts []facilitatortest.Terms }
	if err := json.Unmarshal(document, &required); err != nil || len(required.Accepts) != 1 {
		t.Fatalf("the offer %s: %v", document, err)
	}
	return facilitatortest.EVM(required.Accepts[0], time.Now()).Encode()
}

// sendAndForget makes a call whose answer is not waited for.
func sendAndForget(t *testing.T, address, key, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	go func() {
		if answer, err := clients.Do(r); err == nil {
			answer.Body.Close()
		}
	}()
}

// TestKilledWhileSettling kills the service with a payment at the facilitator. The next one asks nobody to pay again,
// and hands the deposit to the operator, who credits it.
func TestKilledWhileSettling(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	env := []string{"DATABASE_URL=" + dsn}
	facilitator := facilitatortest.New(t)
	facilitator.On("settle", facilitatortest.Hang)
	p := serving(t, dsn, takingDeposits(facilitator)...)
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"a swarm"}`)
	ws, key := made.string("workspace_id"), made.string("owner_key")
	deposits := "/v1/workspaces/" + ws + "/deposits"
	body := fmt.Sprintf(`{"amount_usd":"2.50","payment_signature":%q}`, signed(t, p, ws, key, "2.50"))
	sendAndForget(t, p.url+deposits, key, body)
	eventually(t, "the payment to be settled", func() bool { return facilitator.Calls("settle") == 1 })
	if out := operates(t, env, "operator", "deposits", "list"); !strings.Contains(out, "settling") || !strings.Contains(out, "2.50") {
		t.Errorf("while it is settled the operator sees %q", out)
	}
	p.kill(syscall.SIGKILL)
	<-p.done

	p = serving(t, later(t, dsn), takingDeposits(facilitator)...)
	if r := ask(t, p.url, "POST", deposits, key, body); r.status != 503 || r.string("code") != "PAYMENT_UNSETTLED" || r.header.Get("PAYMENT-REQUIRED") != "" {
		t.Errorf("sent again after the kill: %d %s", r.status, r.text)
	}
	var id string
	eventually(t, "the operator to be asked", func() bool {
		lines := strings.Split(operates(t, env, "operator", "deposits", "list"), "\n")
		if len(lines) < 2 || !strings.Contains(lines[1], "unknown") {
			return false
		}
		id = strings.Fields(lines[1])[0]
		return true
	})
	tx := "0x" + strings.Repeat("ab", 32)
	operates(t, env, "operator", "deposits", "credit", id, "--tx", tx, "--reason", "seen on the chain")
	for _, again := range [][]string{{"credit", id, "--tx", tx, "--reason", "again"}, {"fail", id, "--reason", "again"}} {
		_, err := operate(t, env, append([]string{"operator", "deposits"}, again...)...)
		if err == nil || !strings.Contains(err.Error(), "credited already by "+tx) {
			t.Errorf("decided again: %v", err)
		}
	}
	another := uuid.NewString()
	storetest.Exec(t, dsn, `insert into deposits (workspace_id, deposit_id, state, units, network, created_at)
		select workspace_id, $1, 'unknown', units, network, created_at from deposits`, another)
	_, err := operate(t, env, "operator", "deposits", "credit", another, "--tx", tx, "--reason", "seen on the chain")
	if err == nil || !strings.Contains(err.Error(), "--tx: this transaction is that of deposit "+id) {
		t.Errorf("the transaction of another deposit: %v", err)
	}
	operates(t, env, "operator", "deposits", "fail", another, "--reason", "never seen")
	if r := ask(t, p.url, "POST", deposits, key, body); r.status != 409 || r.string("tx_hash") != tx {
		t.Errorf("sent again after it was credited: %d %s", r.status, r.text)
	}
	if got := must(t, p.url, "GET", "/v1/workspaces/"+ws, key, "").int("deposit_balance"); got != 250_000 {
		t.Errorf("the balance is %d", got)
	}
	if n := facilitator.Calls("settle"); n != 1 {
		t.Errorf("%d settles", n)
	}
	if out := operates(t, env, "operator", "deposits", "totals"); !strings.Contains(out, "credited") || !strings.Contains(out, "2.50") {
		t.Errorf("the totals are %q", out)
	}
	if text := p.metrics(t); !strings.Contains(text, `aanet_deposits{network="eip155:8453",state="credited"} 1`) {
		t.Error("the metrics do not count the deposit")
	}
	if signature := body[len(body)-60 : len(body)-2]; strings.Contains(p.log.String(), signature) {
		t.Error("the payment's signature is in the log")
	}
	operates(t, env, "verify", "ledger")
}

func TestOperatorRefunds(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	env := []string{"DATABASE_URL=" + dsn}
	p := serving(t, dsn, `AANET_REFUND_FEE_USD={"base":"0.5"}`)
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"a swarm"}`)
	ws, key := made.string("workspace_id"), made.string("owner_key")
	ask4 := func(units string) string {
		operates(t, env, "operator", "credit", ws, units, "--reason", "paid by wire", "--refundable")
		r := must(t, p.url, "POST", "/v1/workspaces/"+ws+"/refunds", key, fmt.Sprintf(`{"network":"base","destination_address":%q}`, receiver))
		if r.string("fee_usd") != "0.50" {
			t.Errorf("the fee is %s", r.string("fee_usd"))
		}
		return r.string("refund_id")
	}
	first := ask4("100000")
	if out := operates(t, env, "operator", "refunds", "list"); !strings.Contains(out, first) || !strings.Contains(out, receiver) || !strings.Contains(out, "0.50") {
		t.Errorf("the operator sees %q", out)
	}
	tx := "0x" + strings.Repeat("cd", 32)
	if _, err := operate(t, env, "operator", "refunds", "pay", first, "--tx", tx); err == nil || !strings.Contains(err.Error(), "--unchecked") {
		t.Errorf("paid without a check: %v", err)
	}
	operates(t, env, "operator", "refunds", "pay", first, "--tx", tx, "--unchecked")
	if _, err := operate(t, env, "operator", "refunds", "reject", first, "--reason", "late"); err == nil || !strings.Contains(err.Error(), "paid already by "+tx) {
		t.Errorf("rejected after it was paid: %v", err)
	}
	second := ask4("60000")
	if _, err := operate(t, env, "operator", "refunds", "pay", second, "--tx", tx, "--unchecked"); err == nil || !strings.Contains(err.Error(), "another refund") {
		t.Errorf("one transaction for two refunds: %v", err)
	}
	operates(t, env, "operator", "refunds", "reject", second, "--reason", "asked back")
	if got := must(t, p.url, "GET", "/v1/workspaces/"+ws, key, "").int("deposit_balance"); got != 60_000 {
		t.Errorf("the balance is %d", got)
	}
	operates(t, env, "verify", "ledger")
}

func TestOperatorMoneyIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + storetest.Database(t)}
	nobody := uuid.NewString()
	for _, c := range []struct{ args, says string }{
		{"operator deposits", "usage:"},
		{"operator deposits praise", "praise"},
		{"operator deposits credit", "usage:"},
		{"operator deposits credit x --tx 0x --reason r", "not an id"},
		{"operator deposits credit " + nobody + " --reason r", "--tx is required"},
		{"operator deposits credit " + nobody + " --tx 0x", "--reason is required"},
		{"operator deposits credit " + nobody + " --tx 0x --reason r", "no such deposit"},
		{"operator deposits fail " + nobody + " --reason r", "no such deposit"},
		{"operator refunds praise x", "praise"},
		{"operator refunds pay " + nobody, "--tx is required"},
		{"operator refunds pay " + nobody + " --tx 0x", "no such refund"},
		{"operator refunds reject " + nobody, "--reason is required"},
		{"operator refunds reject " + nobody + " --reason r", "no such refund"},
	} {
		if _, err := operate(t, env, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want something about %q", c.args, err, c.says)
		}
	}
}
