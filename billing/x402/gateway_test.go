package x402

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/x402-foundation/x402/go/types"

	"aanet/billing/x402/facilitatortest"
)

func idsOf(networks []Network) (ids []string) {
	for _, n := range networks {
		ids = append(ids, n.ID)
	}
	return ids
}

func TestTheChallenge(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	required, err := b.Challenge(resource, 123_456)
	if err != nil {
		t.Fatal(err)
	}
	header, err := EncodeHeader(required)
	if err != nil {
		t.Fatal(err)
	}
	document, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(network, asset, payTo, extra string) string {
		return `{"scheme":"exact","network":"` + network + `","asset":"` + asset + `","amount":"1234560","payTo":"` + payTo +
			`","maxTimeoutSeconds":300,"extra":` + extra + `}`
	}
	const domain = `{"name":"USD Coin","version":"2"}`
	want := `{"x402Version":2,"resource":{"url":"https://aanet.example/v1/workspaces/w/deposits","description":"Deposit"},"accepts":[` +
		strings.Join([]string{
			entry("eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", evmReceiver, domain),
			entry("eip155:137", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", evmReceiver, domain),
			entry("eip155:42161", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", evmReceiver, domain),
			entry("eip155:43114", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", evmReceiver, domain),
			entry(SolanaID, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", solanaReceiver, `{"feePayer":"`+facilitatortest.FeePayer+`"}`),
		}, ",") + `]}`
	if string(document) != want {
		t.Errorf("challenge\n%s\nwant\n%s", document, want)
	}
	if read, err := types.ToPaymentRequired(document); err != nil || len(read.Accepts) != 5 {
		t.Errorf("the SDK reads %+v, %v", read, err)
	}
}

func TestNoNetworkWithoutFacilitatorOrReceiver(t *testing.T) {
	b := start(t)
	if _, err := b.Challenge(resource, oneDollar); !errors.Is(err, ErrNoNetwork) {
		t.Errorf("without facilitators: %v", err)
	}
	b = start(t, facing("one", facilitatortest.New(t)))
	clear(b.payTo)
	if _, err := b.Challenge(resource, oneDollar); !errors.Is(err, ErrNoNetwork) {
		t.Errorf("without receivers: %v", err)
	}
	if _, err := b.Requirements("eip155:1", oneDollar); !errors.Is(err, ErrNoNetwork) {
		t.Errorf("on an unknown network: %v", err)
	}
}

func TestADeadFacilitatorCostsOnlyItsNetworks(t *testing.T) {
	hanging, gone, live := facilitatortest.New(t), facilitatortest.New(t), facilitatortest.New(t, base, SolanaID)
	hanging.On("supported", facilitatortest.Hang)
	gone.Close()
	g, err := New(Options{
		Facilitators: []Facilitator{{Name: "hanging", URL: hanging.URL, Timeout: 10 * time.Minute}, facing("gone", gone), facing("live", live)},
		PayTo:        payToAll(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Start(t.Context())
	eventually(t, "the live one's networks, and the fault of one", func() bool { return len(g.Live()) == 2 && g.Status()[1].Fault != "" })
	if _, err := g.Challenge(resource, oneDollar); err != nil {
		t.Error(err)
	}
	// It is given up after ten seconds: until then it is waited for.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if waited := g.WaitFirst(ctx); waited && g.Status()[0].Fault == "" {
		t.Error("the hanging one was not waited for")
	}
	status := g.Status()
	if status[0].Live || status[1].Live || status[1].Fault != "cannot be reached" || !status[2].Live || status[2].Fault != "" {
		t.Errorf("%+v", status)
	}
	g.Stop()
}

func TestFaultsOfSupported(t *testing.T) {
	elsewhere := facilitatortest.New(t)
	for fault, answer := range map[string]facilitatortest.Answer{
		"HTTP 504": facilitatortest.Status(http.StatusGatewayTimeout),
		"HTTP 401: it does not accept our credentials": facilitatortest.Status(http.StatusUnauthorized),
		"HTTP 308":                   facilitatortest.Redirect(elsewhere.URL + "/supported"),
		"the answer is over 1 MiB":   facilitatortest.Huge(answerLimit),
		"an answer that is not x402": facilitatortest.Text("<html>"),
		"no answer in time":          facilitatortest.Hang,
		"the connection broke":       facilitatortest.Reset,
	} {
		s := facilitatortest.New(t)
		s.On("supported", answer)
		f := facing("one", s)
		if fault == "no answer in time" {
			f.Timeout = patience
		}
		b := start(t, f)
		if got := b.Status()[0]; got.Fault != fault || got.Live || got.Asked.IsZero() || !got.Answered.IsZero() {
			t.Errorf("%s: %+v", fault, got)
		}
		if call := b.calls.last(EndpointSupported); call.Outcome != "fault" || call.Fault != fault {
			t.Errorf("%s: reported %+v", fault, call)
		}
	}
	if elsewhere.Calls("supported") != 0 {
		t.Error("a redirect was followed")
	}
}

func TestAnAnswerOfAlmostTheLimitIsRead(t *testing.T) {
	s := facilitatortest.New(t)
	s.On("supported", facilitatortest.Text(`{"kinds":[],"padding":"`+strings.Repeat("x", answerLimit-25)+`"}`))
	if got := start(t, facing("one", s)).Status()[0]; !got.Live {
		t.Errorf("%+v", got)
	}
}

func TestALastGoodAnswerCountsForAWhile(t *testing.T) {
	s := facilitatortest.New(t, base)
	b := start(t, facing("one", s))
	s.On("supported", facilitatortest.Status(http.StatusBadGateway))
	eventually(t, "the fault is noticed", func() bool { return b.Status()[0].Fault != "" })
	answered := b.Status()[0].Answered
	b.clock.Advance(liveFor)
	if got := idsOf(b.Live()); len(got) != 1 {
		t.Errorf("after %s: %v", liveFor, got)
	}
	b.clock.Advance(time.Second)
	if got := b.Status()[0]; got.Live || !got.Answered.Equal(answered) || len(b.Live()) != 0 {
		t.Errorf("later: %+v", got)
	}
	s.On("supported")
	eventually(t, "it is live again", func() bool { return len(b.Live()) == 1 })
}

func TestOnlyKindsThatDepositsUseAreOffered(t *testing.T) {
	s := facilitatortest.New(t)
	solana := facilitatortest.Kinds(SolanaID)[0]
	solana.Extra = map[string]any{"feePayer": "not a key"}
	s.Support(
		facilitatortest.Kind{Version: 1, Scheme: "exact", Network: "base"},
		facilitatortest.Kind{Version: 1, Scheme: "exact", Network: "eip155:137"},
		facilitatortest.Kind{Version: 2, Scheme: "upto", Network: "eip155:42161"},
		facilitatortest.Kind{Version: 2, Scheme: "exact", Network: "eip155:84532"},
		facilitatortest.Kind{Version: 2, Scheme: "exact", Network: avalanche},
		facilitatortest.Kind{Version: 2, Scheme: "exact", Network: base},
		solana,
	)
	if got := idsOf(start(t, facing("one", s)).Live()); strings.Join(got, " ") != base+" "+avalanche {
		t.Errorf("offered: %v", got)
	}
	limited := facing("one", s)
	limited.Networks = []string{base}
	if got := idsOf(start(t, limited).Live()); strings.Join(got, " ") != base {
		t.Errorf("offered with an allow-list: %v", got)
	}
}

func TestFeePayersOfTheFirstAreOfferedAndOlderOnesStillCount(t *testing.T) {
	const second = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"
	s, other := facilitatortest.New(t), facilitatortest.New(t, SolanaID)
	b := start(t, facing("one", s), facing("two", other))
	before := b.pay(t, SolanaID)
	kind := facilitatortest.Kinds(SolanaID)[0]
	kind.Extra = map[string]any{"feePayer": second}
	s.Support(kind)
	other.Close()
	eventually(t, "the new fee payer is offered", func() bool {
		terms, err := b.Requirements(SolanaID, oneDollar)
		return err == nil && terms.Extra["feePayer"] == second
	})
	if _, err := b.Verify(t.Context(), before); err != nil {
		t.Errorf("signed with the fee payer before: %v", err)
	}
	b.clock.Advance(feePayerFor + time.Second)
	eventually(t, "the old fee payer is forgotten", func() bool {
		return len(b.candidates(SolanaID, second)) == 1 && len(b.candidates(SolanaID, facilitatortest.FeePayer)) == 0
	})
}

func TestWrongConfigurationIsRefusedAtStart(t *testing.T) {
	for _, url := range []string{
		"", "facilitator.example", "ftp://facilitator.example", "http://facilitator.example", "http://10.0.0.1", "https://",
		"http://127.0.0.1.example", "https://user:pass@facilitator.example", "https://facilitator.example/?key=1", "https://a b",
		"https://x402.org/facilitator", "https://www.x402.org/facilitator", "https://X402.ORG./facilitator",
		"https://facilitator-testnet.example", "https://facilitator.example/base-sepolia", "https://sepolia.facilitator.example",
	} {
		_, err := New(Options{Now: time.Now, Facilitators: []Facilitator{{Name: "one", URL: url}}})
		if err == nil || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{
		"https://api.cdp.coinbase.com/platform/v2/x402", "https://facilitator.payai.network", "https://fujitsu.example/x402/",
		"http://127.0.0.1:8402", "http://localhost:1/base", "http://[::1]:9",
	} {
		if _, err := New(Options{Now: time.Now, Facilitators: []Facilitator{{Name: "one", URL: url}}}); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	good := Facilitator{Name: "one", URL: "https://facilitator.example"}
	other, negative := good, good
	other.Networks = []string{"eip155:84532"}
	negative.Timeout = -time.Second
	for name, list := range map[string][]Facilitator{
		"a name twice": {good, good}, "no name": {{URL: good.URL}}, "an unknown network": {other}, "a negative timeout": {negative},
	} {
		if _, err := New(Options{Now: time.Now, Facilitators: list}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no clock was accepted")
	}
}

func TestReceiversAreChecked(t *testing.T) {
	for _, c := range []struct {
		network, address string
		ok               bool
	}{
		{base, evmReceiver, true},
		{base, strings.ToLower(evmReceiver), true},
		{base, "", false},
		{base, evmReceiver[2:], false},
		{base, evmReceiver + "0", false},
		{base, "0x0000000000000000000000000000000000000000", false},
		{base, "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913", false},
		{base, solanaReceiver, false},
		{SolanaID, solanaReceiver, true},
		{SolanaID, evmReceiver, false},
		{SolanaID, "11111111111111111111111111111111", false},
		{SolanaID, usdcOnSolana, false},
		{SolanaID, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", false},
		{SolanaID, solanaReceiver[9:], false},
		{"eip155:84532", evmReceiver, false},
		{"base", evmReceiver, false},
	} {
		_, err := New(Options{Now: time.Now, PayTo: map[string]string{c.network: c.address}})
		if (err == nil) != c.ok {
			t.Errorf("%s: %s: %v", c.network, c.address, err)
		}
	}
}

func TestStopEndsTheRefreshers(t *testing.T) {
	s := facilitatortest.New(t)
	b := start(t, facing("one", s))
	b.Stop()
	before := s.Calls("supported")
	time.Sleep(60 * time.Millisecond)
	if after := s.Calls("supported"); after != before {
		t.Errorf("%d calls after Stop", after-before)
	}
	document, err := json.Marshal(b.Status())
	if err != nil || !strings.Contains(string(document), "one") {
		t.Errorf("%s, %v", document, err)
	}
}
