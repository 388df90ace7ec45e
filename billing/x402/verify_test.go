package x402

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"aanet/billing/x402/facilitatortest"
)

func TestVerifyFailsOver(t *testing.T) {
	for name, c := range map[string]struct {
		first facilitatortest.Answer
		// reason is the refusal; empty when the second facilitator's word counts.
		reason string
	}{
		"hang":            {facilitatortest.Hang, ""},
		"reset":           {facilitatortest.Reset, ""},
		"500":             {facilitatortest.Status(http.StatusInternalServerError), ""},
		"504":             {facilitatortest.Status(http.StatusGatewayTimeout), ""},
		"401":             {facilitatortest.Refused(http.StatusUnauthorized, "unauthorized"), ""},
		"429":             {facilitatortest.Refused(http.StatusTooManyRequests, "slow_down"), ""},
		"500 with reason": {facilitatortest.Refused(http.StatusInternalServerError, "unexpected_error"), ""},
		"400":             {facilitatortest.Status(http.StatusBadRequest), ""},
		"400 with reason": {facilitatortest.Refused(http.StatusBadRequest, "invalid_payload"), ""},
		"redirect":        {facilitatortest.Redirect("http://127.0.0.1:1/"), ""},
		"huge":            {facilitatortest.Huge(answerLimit), ""},
		"not JSON":        {facilitatortest.Text("<html>"), ""},
		"said twice":      {facilitatortest.Text(`{"isValid":false,"isValid":true}`), ""},
		"in another case": {facilitatortest.Text(`{"isValid":true,"isvalid":true}`), ""},
		"no verdict":      {facilitatortest.Text("{}"), ""},
		"invalid":         {facilitatortest.Invalid("insufficient_funds"), "insufficient_funds"},
		"invalid, silent": {facilitatortest.Invalid(""), "refused_by_facilitator"},
	} {
		one, two := facilitatortest.New(t), facilitatortest.New(t)
		b := start(t, facing("one", one), facing("two", two))
		payment := b.pay(t, base)
		one.On("verify", c.first)
		if name == "hang" {
			b.hurry("one", patience)
		}
		verified, err := b.Verify(t.Context(), payment)
		for again := 2 * patience; name == "hang" && one.Calls("verify") == 0; again *= 2 { // the machine is busy
			two.Forget()
			b.hurry("one", again)
			verified, err = b.Verify(t.Context(), payment)
		}
		if reasonOf(err) != c.reason || (c.reason == "" && verified.Facilitator != "two") {
			t.Errorf("%s: %+v, %v", name, verified, err)
		}
		if wanted := map[bool]int{true: 1, false: 0}[c.reason == ""]; one.Calls("verify") != 1 || two.Calls("verify") != wanted {
			t.Errorf("%s: %d and %d calls", name, one.Calls("verify"), two.Calls("verify"))
		}
		if one.Calls("settle")+two.Calls("settle") != 0 {
			t.Errorf("%s: something was settled", name)
		}
	}
}

func TestTheFirstVerifiesWhenItIsWell(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", two))
	for _, n := range Networks() {
		verified, err := b.Verify(t.Context(), b.pay(t, n.ID))
		if err != nil || verified.Facilitator != "one" {
			t.Errorf("%s: %+v, %v", n.Name, verified, err)
		}
	}
	if one.Calls("verify") != 5 || two.Calls("verify") != 0 {
		t.Errorf("%d and %d calls", one.Calls("verify"), two.Calls("verify"))
	}
	for i, r := range one.Requests("verify") {
		var sent struct {
			Version int             `json:"x402Version"`
			Payment json.RawMessage `json:"paymentPayload"`
		}
		if err := json.Unmarshal(r.Body, &sent); err != nil || sent.Version != 2 || r.Terms.Network != networks[i].ID ||
			r.Terms.Amount != "1000000" || r.Terms.PayTo != b.PayTo(networks[i].ID) {
			t.Errorf("%s: %v", r.Body, err)
		}
		if _, err := ParseProof(string(sent.Payment)); err != nil {
			t.Errorf("what was sent is no proof: %v", err)
		}
	}
}

func TestARefusalBy4xxCountsWhenNobodySaysBetter(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", two))
	payment := b.pay(t, base)
	one.On("verify", facilitatortest.Refused(http.StatusBadRequest, "invalid_signature"))
	two.On("verify", facilitatortest.Status(http.StatusBadGateway))
	if _, err := b.Verify(t.Context(), payment); reasonOf(err) != "invalid_signature" {
		t.Error(err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	slow := facing("one", one)
	slow.Timeout = 10 * time.Minute
	b := startWith(t, 2*patience, slow, facing("two", two))
	payment := b.pay(t, base)
	one.On("verify", facilitatortest.Hang)
	two.Close()
	_, err := b.Verify(t.Context(), payment)
	if !errors.Is(err, ErrFacilitator) || reasonOf(err) != "" {
		t.Fatal(err)
	}
	// Only the second one's own fault depends on whether the machine finds time to refuse the connection.
	if !strings.Contains(err.Error(), "one: no answer in time") || !strings.Contains(err.Error(), "two: ") {
		t.Errorf("the error says %q", err)
	}
	if call := b.calls.last(EndpointVerify); call.Facilitator != "two" && call.Facilitator != "one" || call.Outcome != "fault" {
		t.Errorf("reported %+v", call)
	}
}

// A facilitator that failed lately is asked last, so that it delays nobody; it is still asked.
func TestALimpingFacilitatorIsAskedLast(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", two))
	payment := b.pay(t, base)
	one.On("supported", facilitatortest.Status(http.StatusBadGateway))
	eventually(t, "the fault is noticed", func() bool { return b.Status()[0].Fault != "" })
	if verified, err := b.Verify(t.Context(), payment); err != nil || verified.Facilitator != "two" {
		t.Errorf("%+v, %v", verified, err)
	}
	two.On("verify", facilitatortest.Status(http.StatusBadGateway))
	if verified, err := b.Verify(t.Context(), payment); err != nil || verified.Facilitator != "one" {
		t.Errorf("%+v, %v", verified, err)
	}
}

func TestNobodyLiveIsAFaultOfTheFacilitators(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	onBase, onSolana := b.pay(t, base), facilitatortest.SVM(b.termsFor(t, SolanaID, oneDollar)).Encode()
	b.Stop()
	b.clock.Advance(liveFor + time.Second)
	if _, err := b.Verify(t.Context(), onBase); !errors.Is(err, ErrFacilitator) {
		t.Error(err)
	}
	proof, err := ParseProof(onSolana)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Match(proof, oneDollar); !errors.Is(err, ErrFacilitator) {
		t.Error(err)
	}
}

func TestTheCallerMayGiveUp(t *testing.T) {
	one, two := facilitatortest.New(t), facilitatortest.New(t)
	b := start(t, facing("one", one), facing("two", two))
	payment := b.pay(t, base)
	one.On("verify", facilitatortest.Hang)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := b.Verify(ctx, payment); !errors.Is(err, ErrFacilitator) {
		t.Error(err)
	}
	if last := b.calls.last(EndpointVerify).Facilitator; two.Calls("verify") != 0 || last != "one" {
		t.Errorf("the second was asked for nobody, or blamed: %q", last)
	}
}

func TestWhatAFacilitatorWritesIsMadeFitToShow(t *testing.T) {
	const key = "sk_live_hunter2"
	one := facilitatortest.New(t)
	f := facing("one", one)
	f.Auth, f.KeySecret = AuthBearer, key
	b := start(t, f)
	payment := b.pay(t, base)
	one.On("verify", facilitatortest.Invalid("bad\x1b[31m key sk_live_hun\nter2 "+strings.Repeat("é", 5)+strings.Repeat("x", 5000)))
	_, err := b.Verify(t.Context(), payment)
	reason := reasonOf(err)
	if len(reason) > 200 || strings.Contains(reason, "hunter2") || strings.ContainsAny(reason, "\x1b\n") || !strings.HasPrefix(reason, "bad") {
		t.Errorf("%q", reason)
	}
	one.On("verify", facilitatortest.JSON(http.StatusInternalServerError, map[string]any{"error": "token " + key}))
	if _, err = b.Verify(t.Context(), payment); !errors.Is(err, ErrFacilitator) || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	for _, r := range one.Requests("verify") {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("sent %q", r.Header.Get("Authorization"))
		}
	}
}

// With these statuses the facilitator speaks of itself or of us, whatever reason it gives: the payment is not refused.
func TestAReasonWithAStatusOfItsOwnTroubleIsNoVerdict(t *testing.T) {
	one := facilitatortest.New(t)
	b := start(t, facing("one", one))
	payment := b.pay(t, base)
	for _, status := range []int{401, 403, 404, 429, 500, 502, 503, 504} {
		one.On("verify", facilitatortest.Refused(status, "unexpected_error"))
		if _, err := b.Verify(t.Context(), payment); !errors.Is(err, ErrFacilitator) || reasonOf(err) != "" {
			t.Errorf("%d: %v", status, err)
		}
	}
}
