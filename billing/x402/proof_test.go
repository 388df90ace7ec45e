package x402

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"aanet/billing/x402/facilitatortest"
)

func TestMalformedProofs(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	good := `"accepted":{"scheme":"exact","network":"eip155:8453"}`
	for _, c := range []struct{ name, text, reason string }{
		{"nothing", "", "empty"},
		{"blanks", " \t\r\n", "empty"},
		{"a letter", "x", "not_base64"},
		{"NUL", "\x00", "not_base64"},
		{"NUL within", "e30\x00", "not_base64"},
		{"bad base64", "!!!!", "not_base64"},
		{"base64 of text", encode([]byte("hello")), "not_json"},
		{"base64 of a list", encode([]byte("[]")), "not_json"},
		{"base64 of null", encode([]byte("null")), "not_json"},
		{"base64 of nothing", "====", "not_json"},
		{"half a document", encode([]byte(`{"x402Version":2`)), "not_json"},
		{"two documents", encode([]byte(`{}{}`)), "not_json"},
		{"a repeated name", encode([]byte(`{"x402Version":2,"x402Version":2}`)), "not_json"},
		{"invalid UTF-8", encode([]byte("{\"a\":\"\xff\"}")), "not_json"},
		{"NUL in the document", encode([]byte("{\"a\":\"\x00\"}")), "not_json"},
		{"an empty object", encode([]byte(`{}`)), "version_missing"},
		{"raw, an empty object", `{}`, "version_missing"},
		{"raw, not JSON", `{x}`, "not_json"},
		{"version in other letters", `{"X402VERSION":2}`, "version_missing"},
		{"version 1", encode([]byte(`{"x402Version":1,"scheme":"exact","network":"base","payload":{}}`)), "version"},
		{"version 3", `{"x402Version":3}`, "version"},
		{"version as text", `{"x402Version":"2"}`, "version"},
		{"version null", `{"x402Version":null}`, "version_missing"},
		{"version only", `{"x402Version":2}`, "malformed"},
		{"no payload", `{"x402Version":2,` + good + `}`, "malformed"},
		{"payload null", `{"x402Version":2,"payload":null,` + good + `}`, "malformed"},
		{"payload a list", `{"x402Version":2,"payload":[],` + good + `}`, "malformed"},
		{"no accepted", `{"x402Version":2,"payload":{}}`, "malformed"},
		{"accepted a text", `{"x402Version":2,"payload":{},"accepted":"x"}`, "malformed"},
		{"another scheme", `{"x402Version":2,"payload":{},"accepted":{"scheme":"upto","network":"eip155:8453"}}`, "scheme"},
		{"a test network", `{"x402Version":2,"payload":{},"accepted":{"scheme":"exact","network":"eip155:84532"}}`, "network"},
		{"a v1 network", `{"x402Version":2,"payload":{},"accepted":{"scheme":"exact","network":"base"}}`, "network"},
		{"an empty payload", `{"x402Version":2,"payload":{},` + good + `}`, "not_eip3009"},
		{"Permit2", `{"x402Version":2,"payload":{"signature":"0x","permit2Authorization":{}},` + good + `}`, "not_eip3009"},
		{"deep", `{"a":` + strings.Repeat("[", 60_000), "not_json"},
		{"a megabyte", strings.Repeat("A", 1<<20), "too_large"},
		{"just too long", strings.Repeat("A", ProofLimit+1), "too_large"},
	} {
		_, err := ParseProof(c.text)
		if reasonOf(err) != c.reason {
			t.Errorf("%s: %v (%s), want %s", c.name, err, reasonOf(err), c.reason)
		}
	}
}

func TestFaultyAuthorizations(t *testing.T) {
	terms := facilitatortest.Terms{Scheme: "exact", Network: base, PayTo: evmReceiver, Amount: "1000000"}
	for _, c := range []struct {
		name, field string
		value       any
		reason      string
	}{
		{"short nonce", "nonce", "0x1234", "nonce"},
		{"long nonce", "nonce", "0x" + strings.Repeat("0", 66), "nonce"},
		{"nonce not hex", "nonce", "0x" + strings.Repeat("g", 64), "nonce"},
		{"no nonce", "nonce", "", "nonce"},
		{"no 0x", "from", strings.Repeat("1", 40), "address"},
		{"short address", "to", "0x1234", "address"},
		{"a name", "from", "vitalik.eth", "address"},
		{"from nobody", "from", "0x" + strings.Repeat("0", 40), "address"},
		{"hex value", "value", "0xf4240", "number"},
		{"padded value", "value", "01000000", "number"},
		{"negative value", "value", "-1000000", "number"},
		{"fraction", "value", "1000000.0", "number"},
		{"exponent", "value", "1e6", "number"},
		{"empty value", "value", "", "number"},
		{"endless value", "value", strings.Repeat("9", 79), "number"},
		{"value as number", "value", 1000000, "malformed"},
		{"time as text", "validBefore", "tomorrow", "number"},
		{"time missing", "validAfter", "", "number"},
		{"no object", "from", map[string]any{}, "malformed"},
	} {
		payment := facilitatortest.EVM(terms, newClock().Now())
		payment.Authorization()[c.field] = c.value
		if _, err := ParseProof(payment.Encode()); reasonOf(err) != c.reason {
			t.Errorf("%s: %v (%s), want %s", c.name, err, reasonOf(err), c.reason)
		}
	}
	for _, signature := range []any{"", "0x", "0x1234", "0x" + strings.Repeat("z", 130), "0x" + strings.Repeat("1", 129)} {
		payment := facilitatortest.EVM(terms, newClock().Now())
		payment.Payload["signature"] = signature
		if _, err := ParseProof(payment.Encode()); reasonOf(err) != "signature" {
			t.Errorf("signature %.20q: %v", signature, err)
		}
	}
}

func TestAProofIsReadInAnySpelling(t *testing.T) {
	terms := facilitatortest.Terms{Scheme: "exact", Network: base, PayTo: evmReceiver, Amount: "1000000"}
	payment := facilitatortest.EVM(terms, newClock().Now())
	document, err := json.Marshal(payment)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ParseProof(payment.Encode())
	if err != nil {
		t.Fatal(err)
	}
	nonce := payment.Authorization()["nonce"].(string)
	key := "eip155:8453|0x833589fcd6edb6e08f4c7c32d4f71b54bda02913|" + strings.ToLower(facilitatortest.Payer) + "|" + nonce
	if want.Key != key || want.Payer != strings.ToLower(facilitatortest.Payer) || want.Network.Name != "Base" {
		t.Fatalf("%+v", want)
	}
	payment.Authorization()["nonce"] = strings.ToUpper(nonce[2:])
	payment.Authorization()["from"] = "0x" + strings.ToUpper(facilitatortest.Payer[2:])
	for name, text := range map[string]string{
		"raw":                  string(document),
		"raw with blanks":      "\n " + string(document) + "\n",
		"URL alphabet":         base64.URLEncoding.EncodeToString(document),
		"unpadded":             base64.RawStdEncoding.EncodeToString(document),
		"other case, no 0x":    payment.Encode(),
		"base64 around blanks": base64.StdEncoding.EncodeToString([]byte(" " + string(document) + "\n")),
	} {
		if got, err := ParseProof(text); err != nil || got.Key != want.Key {
			t.Errorf("%s: key %q, %v", name, got.Key, err)
		}
	}
}

func TestOnlyTheServersTermsCount(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	now := b.clock.Now()
	unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	const other = "0x1111111111111111111111111111111111111111"
	for _, c := range []struct {
		name   string
		change func(*facilitatortest.Payment)
		reason string
	}{
		{"as asked", func(*facilitatortest.Payment) {}, ""},
		{"accepted.amount lowered", func(p *facilitatortest.Payment) { p.Accepted.Amount = "1" }, "amount"},
		{"value lowered", func(p *facilitatortest.Payment) { p.Authorization()["value"] = "999999" }, "amount"},
		{"value raised", func(p *facilitatortest.Payment) { p.Authorization()["value"] = "1000001" }, "amount"},
		{"both lowered", func(p *facilitatortest.Payment) {
			p.Accepted.Amount = "250000"
			p.Authorization()["value"] = "250000"
		}, "amount"},
		{"accepted.payTo changed", func(p *facilitatortest.Payment) { p.Accepted.PayTo = other }, "pay_to"},
		{"to changed", func(p *facilitatortest.Payment) { p.Authorization()["to"] = other }, "pay_to"},
		{"both changed", func(p *facilitatortest.Payment) {
			p.Accepted.PayTo = other
			p.Authorization()["to"] = other
		}, "pay_to"},
		{"accepted.asset changed", func(p *facilitatortest.Payment) { p.Accepted.Asset = other }, "asset"},
		{"signed for another chain", func(p *facilitatortest.Payment) { p.Accepted.Network = avalanche }, "asset"},
		{"paid to oneself", func(p *facilitatortest.Payment) { p.Authorization()["from"] = evmReceiver }, "payer"},
		{"expired", func(p *facilitatortest.Payment) { p.Authorization()["validBefore"] = unix(-time.Second) }, "expired"},
		{"about to expire", func(p *facilitatortest.Payment) { p.Authorization()["validBefore"] = unix(10 * time.Second) }, "expired"},
		{"just long enough", func(p *facilitatortest.Payment) { p.Authorization()["validBefore"] = unix(11 * time.Second) }, ""},
		{"for ever", func(p *facilitatortest.Payment) { p.Authorization()["validBefore"] = strings.Repeat("9", 78) }, ""},
		{"not yet", func(p *facilitatortest.Payment) { p.Authorization()["validAfter"] = unix(time.Second) }, "not_yet_valid"},
		{"from now", func(p *facilitatortest.Payment) { p.Authorization()["validAfter"] = unix(0) }, ""},
		{"since ever", func(p *facilitatortest.Payment) { p.Authorization()["validAfter"] = "0" }, ""},
		{"other case", func(p *facilitatortest.Payment) {
			p.Accepted.PayTo = strings.ToLower(evmReceiver)
			p.Authorization()["to"] = strings.ToLower(evmReceiver)
		}, ""},
	} {
		sent := facilitatortest.EVM(b.termsFor(t, base, oneDollar), now)
		c.change(&sent)
		proof, err := ParseProof(sent.Encode())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err = b.Match(proof, oneDollar); reasonOf(err) != c.reason || (c.reason == "") != (err == nil) {
			t.Errorf("%s: %v (%s), want %q", c.name, err, reasonOf(err), c.reason)
		}
	}
}

// What the payer says about the terms, and fields that mean nothing here, must not reach the facilitator.
func TestThePayloadIsWrittenAnew(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	sent := facilitatortest.EVM(b.termsFor(t, base, oneDollar), b.clock.Now())
	sent.Accepted.MaxTimeoutSeconds = 1
	sent.Accepted.Extra = map[string]any{"name": "Fool's Coin", "marker": "payer"}
	sent.Payload["marker"], sent.Authorization()["marker"] = "payer", "payer"
	payment := b.mustMatch(t, sent.Encode())
	if strings.Contains(string(payment.Payload), "marker") || !strings.Contains(string(payment.Payload), `"maxTimeoutSeconds":300`) {
		t.Errorf("payload: %s", payment.Payload)
	}
	if !strings.Contains(string(payment.Payload), `"accepted":`+string(payment.Requirements)) {
		t.Errorf("accepted is not the server's own: %s", payment.Payload)
	}
	if want := unixTime(sent.Authorization()["validBefore"].(string)); !payment.ValidBefore.Equal(want) {
		t.Errorf("valid before %s, want %s", payment.ValidBefore, want)
	}
}

func TestAnAmountChangedBetweenTheStepsIsRefused(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	proof, err := ParseProof(facilitatortest.EVM(b.termsFor(t, base, oneDollar), b.clock.Now()).Encode())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Match(proof, 5*oneDollar); reasonOf(err) != "amount" {
		t.Errorf("5 dollars by a proof of 1: %v", err)
	}
}

func TestANetworkWithoutReceiverIsNotOffered(t *testing.T) {
	b := start(t, facing("one", facilitatortest.New(t)))
	proof, err := ParseProof(facilitatortest.EVM(b.termsFor(t, avalanche, oneDollar), b.clock.Now()).Encode())
	if err != nil {
		t.Fatal(err)
	}
	delete(b.payTo, avalanche)
	if _, err := b.Match(proof, oneDollar); reasonOf(err) != "network" {
		t.Error(err)
	}
	if _, err := b.Requirements(avalanche, oneDollar); !errors.Is(err, ErrNoNetwork) {
		t.Error(err)
	}
}

func FuzzParseProof(f *testing.F) {
	terms := facilitatortest.Terms{Scheme: "exact", Network: base, PayTo: evmReceiver, Amount: "1000000"}
	f.Add(facilitatortest.EVM(terms, newClock().Now()).Encode())
	document, _ := json.Marshal(facilitatortest.EVM(terms, newClock().Now()))
	f.Add(string(document))
	terms.Network, terms.Asset, terms.Extra = SolanaID, networks[4].Asset, map[string]any{"feePayer": facilitatortest.FeePayer}
	document, _ = json.Marshal(facilitatortest.SVM(terms))
	f.Add(string(document))
	for _, seed := range []string{"", "x", "{}", "e30=", "\x00", `{"x402Version":2,"payload":{},"accepted":{}}`} {
		f.Add(seed)
	}
	g, err := New(Options{Now: newClock().Now, PayTo: payToAll()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProof(text)
		if err != nil {
			if reasonOf(err) == "" {
				t.Fatalf("not an InvalidError: %v", err)
			}
			return
		}
		if p.Key == "" || p.Payer == "" || !strings.HasPrefix(p.Key, p.Network.ID+"|") {
			t.Fatalf("key %q, payer %q", p.Key, p.Payer)
		}
		payment, err := g.Match(p, oneDollar)
		if err != nil {
			return
		}
		again, err := ParseProof(string(payment.Payload))
		if err != nil || again.Key != p.Key {
			t.Fatalf("what the facilitator gets has another key: %q, %q, %v", p.Key, again.Key, err)
		}
	})
}
