package x402

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/x402-foundation/x402/go/types"

	"aanet/billing/x402/facilitatortest"
)

func TestSettle(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", two))
	for _, n := range Networks() {
		payment := b.pay(t, n.ID)
		o := b.Settle(t.Context(), payment, "two")
		requests := two.Requests("settle")
		hash := facilitatortest.Transaction(requests[len(requests)-1])
		if o.State != Settled || o.Transaction != hash || o.Network != n.ID || o.Payer != payment.Payer || o.Facilitator != "two" || o.Reason != "" {
			t.Errorf("%s: %+v", n.Name, o)
		}
		text, err := base64.StdEncoding.DecodeString(o.Header())
		want := `{"success":true,"transaction":"` + hash + `","network":"` + n.ID + `","payer":"` + payment.Payer + `"}`
		if err != nil || string(text) != want {
			t.Errorf("header %s, want %s", text, want)
		}
	}
	if one.Calls("settle") != 0 || two.Calls("settle") != 5 {
		t.Errorf("%d and %d calls", one.Calls("settle"), two.Calls("settle"))
	}
}

const settledRest = `"transaction":"0x1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f","network":"eip155:8453"}`

// The matrix: whatever came back, the request went out once, to one facilitator, and only a clean success is one.
func TestEverythingButACleanSuccessIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		answer facilitatortest.Answer
		reason string
		hash   bool
	}{
		"hang":               {facilitatortest.Hang, "no answer in time", false},
		"slower than we are": {facilitatortest.Slow(time.Hour, facilitatortest.Settled), "no answer in time", false},
		"504":                {facilitatortest.Status(http.StatusGatewayTimeout), "HTTP 504", false},
		"500 with reason":    {facilitatortest.FailedStatus(http.StatusInternalServerError, "unexpected"), "HTTP 500: unexpected", false},
		"400 with reason":    {facilitatortest.FailedStatus(http.StatusBadRequest, "nonce_used"), "HTTP 400: nonce_used", false},
		"400":                {facilitatortest.Status(http.StatusBadRequest), "HTTP 400", false},
		"401":                {facilitatortest.Status(http.StatusUnauthorized), "HTTP 401: it does not accept our credentials", false},
		"409":                {facilitatortest.Status(http.StatusConflict), "HTTP 409", false},
		"reset":              {facilitatortest.Reset, "the connection broke", false},
		"redirect":           {facilitatortest.Redirect("http://127.0.0.1:1/settle"), "HTTP 308", false},
		"huge":               {facilitatortest.Huge(answerLimit), "the answer is over 1 MiB", false},
		"not JSON":           {facilitatortest.Text("<html>"), "an answer that is not x402", false},
		"half an answer":     {facilitatortest.Text(`{"success":true}`), "an answer that is not x402", false},
		"success: false":     {facilitatortest.Failed("insufficient_funds"), "reported as failed: insufficient_funds", false},
		"failed, no reason":  {facilitatortest.Failed(""), "reported as failed: ", false},
		"pending":            {facilitatortest.Pending, "reported as failed: settlement_pending", true},
		"no transaction":     {facilitatortest.EmptyTransaction, "reported as settled without a transaction", false},
		"another network":    {facilitatortest.WrongNetwork, "reported as settled on another network", true},
		"no hash":            {facilitatortest.NoHash, "reported as settled with something that is no transaction", true},
		"zeros":              {facilitatortest.SettledBut("transaction", "0x"+strings.Repeat("0", 64)), "reported as settled with something that is no transaction", true},
		"said twice":         {facilitatortest.Text(`{"success":false,"success":true,` + settledRest), "an answer that is not x402", false},
		"in another case":    {facilitatortest.Text(`{"success":false,"Success":true,` + settledRest), "an answer that is not x402", false},
		"two answers":        {facilitatortest.Text(`{"success":true,` + settledRest + `{"success":true,` + settledRest), "an answer that is not x402", false},
		"less":               {facilitatortest.SettledBut("amount", "999999"), "reported as settled with another amount", true},
		"more":               {facilitatortest.SettledBut("amount", "10000000"), "reported as settled with another amount", true},
		"in dollars":         {facilitatortest.SettledBut("amount", "1.00"), "reported as settled with another amount", true},
	} {
		one, two := facilitatortest.New(t), facilitatortest.New(t)
		b := start(t, facing("one", one), facing("two", two))
		payment := b.pay(t, base)
		one.On("settle", c.answer)
		if c.reason == "no answer in time" {
			b.hurry("one", patience)
		}
		o := b.Settle(t.Context(), payment, "one")
		for again := 2 * patience; o.State == NotSent && one.Calls("settle") == 0; again *= 2 { // the machine is busy
			b.hurry("one", again)
			o = b.Settle(t.Context(), payment, "one")
		}
		if o.State != Unknown || o.Reason != c.reason || (o.Transaction != "") != c.hash || o.Header() != "" || o.Facilitator != "one" {
			t.Errorf("%s: %+v", name, o)
		}
		if one.Calls("settle") != 1 || two.Calls("settle") != 0 {
			t.Errorf("%s: settle went out %d and %d times", name, one.Calls("settle"), two.Calls("settle"))
		}
		if call := b.calls.last(EndpointSettle); call.Outcome != "unknown" || call.Facilitator != "one" {
			t.Errorf("%s: reported %+v", name, call)
		}
	}
}

// What an answer says besides is no obstacle while it can be so. Another payer cannot be: that is a doubt.
func TestWhatASuccessSaysBesides(t *testing.T) {
	one := facilitatortest.New(t)
	b := start(t, facing("one", one))
	payment := b.pay(t, base)
	for _, c := range []struct {
		field, value string
		doubt        bool
	}{
		{"amount", "1000000", false},
		{"amount", "", false},
		{"payer", "", false},
		{"payer", strings.ToUpper(facilitatortest.Payer[2:]), true}, // no address
		{"payer", "0x" + strings.ToUpper(facilitatortest.Payer[2:]), false},
		{"payer", strings.ToLower(facilitatortest.Payer), false},
		{"payer", evmReceiver, true},
	} {
		one.On("settle", facilitatortest.SettledBut(c.field, c.value))
		o := b.Settle(t.Context(), payment, "one")
		if o.State != Settled || (o.Doubt != "") != c.doubt || o.Payer != payment.Payer || !strings.Contains(string(o.Response), payment.Payer) {
			t.Errorf("%s %q: %+v", c.field, c.value, o)
		}
	}
}

func TestSlowButInTimeIsSettled(t *testing.T) {
	one := facilitatortest.New(t)
	b := start(t, facing("one", one))
	payment := b.pay(t, base)
	one.On("settle", facilitatortest.Slow(100*time.Millisecond, facilitatortest.Settled))
	if o := b.Settle(t.Context(), payment, "one"); o.State != Settled {
		t.Errorf("%+v", o)
	}
}

func TestNotSentOnlyWithoutAConnection(t *testing.T) {
	one := facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", facilitatortest.New(t)))
	payment := b.pay(t, base)
	one.Close()
	if o := b.Settle(t.Context(), payment, "one"); o.State != NotSent || o.Reason != "cannot be reached" || o.Facilitator != "one" {
		t.Errorf("refused: %+v", o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := b.Settle(ctx, payment, "two"); o.State != NotSent || o.Reason != "given up by the caller" {
		t.Errorf("given up before: %+v", o)
	}
	nobody := start(t)
	if o := nobody.Settle(t.Context(), payment, "one"); o.State != NotSent || o.Facilitator != "" {
		t.Errorf("nobody there: %+v", o)
	}
}

func TestGivingUpAfterSendingIsUnknown(t *testing.T) {
	one := facilitatortest.New(t)
	b := start(t, facing("one", one))
	payment := b.pay(t, base)
	one.On("settle", facilitatortest.Hang)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Outcome, 1)
	go func() { ended <- b.Settle(ctx, payment, "one") }()
	eventually(t, "settle arrives", func() bool { return one.Calls("settle") == 1 })
	cancel()
	if o := <-ended; o.State != Unknown || o.Reason != "given up by the caller" {
		t.Errorf("%+v", o)
	}
}

func TestTheOneThatVerifiedSettlesEvenIfItLimps(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", two))
	payment := b.pay(t, base)
	one.On("supported", facilitatortest.Status(http.StatusBadGateway))
	eventually(t, "the fault is noticed", func() bool { return b.Status()[0].Fault != "" })
	if o := b.Settle(t.Context(), payment, "one"); o.State != Settled || o.Facilitator != "one" {
		t.Errorf("%+v", o)
	}
	if o := b.Settle(t.Context(), payment, "no longer configured"); o.Facilitator != "two" {
		t.Errorf("%+v", o)
	}
}

// A payment that was stored is all that a settlement after a restart needs.
func TestAPaymentSurvivesARestart(t *testing.T) {
	one := facilitatortest.New(t)
	first := start(t, facing("one", one))
	stored, err := json.Marshal(first.pay(t, SolanaID))
	if err != nil {
		t.Fatal(err)
	}
	first.Stop()
	var payment Payment
	if err := json.Unmarshal(stored, &payment); err != nil {
		t.Fatal(err)
	}
	if o := start(t, facing("one", one)).Settle(t.Context(), payment, "one"); o.State != Settled {
		t.Errorf("%+v", o)
	}
}

func TestAnAnswerWithBallastMakesAShortHeader(t *testing.T) {
	one := facilitatortest.New(t)
	b := start(t, facing("one", one))
	payment := b.pay(t, base)
	one.On("settle", facilitatortest.JSON(http.StatusOK, map[string]any{
		"success": true, "transaction": "0x" + strings.Repeat("1f", 32), "network": base, "payer": strings.Repeat("x", 1000),
		"extra": map[string]any{"ballast": strings.Repeat("x", 500_000)},
	}))
	o := b.Settle(t.Context(), payment, "one")
	if o.State != Settled || len(o.Header()) > 400 {
		t.Errorf("%s with a header of %d bytes", o.State, len(o.Header()))
	}
	one.On("settle", facilitatortest.JSON(http.StatusOK, map[string]any{
		"success": true, "transaction": "0x12 34", "network": base,
	}))
	if o := b.Settle(t.Context(), payment, "one"); o.State != Unknown {
		t.Errorf("a transaction with a blank: %+v", o)
	}
}

func TestTheSDKReadsWhatFacilitatorsGet(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	for _, n := range Networks() {
		payment := b.pay(t, n.ID)
		payload, err := types.ToPaymentPayload(payment.Payload)
		if err != nil {
			t.Fatal(err)
		}
		match, err := types.MatchPayloadToRequirements(2, payment.Payload, payment.Requirements)
		if err != nil || !match || payload.Accepted.Network != n.ID || payload.X402Version != 2 {
			t.Errorf("%s: %v, %v", n.Name, match, err)
		}
	}
}
