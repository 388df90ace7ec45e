package x402

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"testing"

	"aanet/billing/x402/facilitatortest"
)

var usdcOnSolana = networks[4].Asset

func transactionOf(amount uint64) []byte {
	return facilitatortest.SolanaTransaction(facilitatortest.FeePayer, usdcOnSolana, amount, [32]byte{1, 2, 3})
}

func TestATransactionIsRead(t *testing.T) {
	p, err := readSolana(transactionOf(1_234_567))
	if err != nil {
		t.Fatal(err)
	}
	if p.amount != 1_234_567 || p.decimals != 6 || p.mint.String() != usdcOnSolana ||
		p.feePayer.String() != facilitatortest.FeePayer || p.authority.String() != facilitatortest.SolanaPayer ||
		p.source == p.destination {
		t.Errorf("%+v", p)
	}
}

// Where the parts of transactionOf begin.
const (
	atSignatures = 1
	atMessage    = atSignatures + 2*64
	atKeyCount   = atMessage + 4
	atBlockhash  = atKeyCount + 1 + 7*32
	atTransfer   = atBlockhash + 32 + 1 + 8 + 12

	atDestination = atKeyCount + 1 + 3*32
)

func TestTheKeyIsTheMessage(t *testing.T) {
	raw := transactionOf(1_000_000)
	first, err := readSolana(raw)
	if err != nil {
		t.Fatal(err)
	}
	signed := slices.Clone(raw)
	copy(signed[atSignatures:], bytes.Repeat([]byte{7}, 64)) // as the facilitator does
	if again, err := readSolana(signed); err != nil || again.hash != first.hash {
		t.Errorf("with the fee payer's signature: %q, %v", again.hash, err)
	}
	other := slices.Clone(raw)
	other[atBlockhash]++
	if another, err := readSolana(other); err != nil || another.hash == first.hash {
		t.Errorf("with another blockhash: %q, %v", another.hash, err)
	}
}

// Each of these decodes to the same message for a lenient reader, and would be the same payment under another key.
func TestOtherSpellingsOfATransactionAreRefused(t *testing.T) {
	raw := transactionOf(1_000_000)
	for name, other := range map[string][]byte{
		"trailing byte":            append(slices.Clone(raw), 0),
		"overlong signature count": slices.Concat([]byte{0x82, 0}, raw[1:]),
		"overlong key count":       slices.Concat(raw[:atKeyCount], []byte{0x87, 0}, raw[atKeyCount+1:]),
		"three bytes of length":    slices.Concat(raw[:atKeyCount], []byte{0x87, 0x80, 0}, raw[atKeyCount+1:]),
		"overlong table count":     append(slices.Clone(raw[:len(raw)-1]), 0x80, 0),
		"overlong instructions":    slices.Concat(raw[:atBlockhash+32], []byte{0x83, 0}, raw[atBlockhash+33:]),
	} {
		if _, err := readSolana(other); !errors.Is(err, errSolanaForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFaultyTransactions(t *testing.T) {
	raw := transactionOf(1_000_000)
	change := func(at int, b byte) []byte {
		other := slices.Clone(raw)
		other[at] = b
		return other
	}
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"nothing":                {nil, errSolanaForm},
		"one byte":               {[]byte{1}, errSolanaForm},
		"no signature":           {slices.Concat([]byte{0}, raw[atMessage:]), errSolanaForm},
		"fewer signers":          {change(atMessage+1, 1), errSolanaForm},
		"version 1":              {change(atMessage, 0x81), errSolanaForm},
		"too large":              {append(slices.Clone(raw), make([]byte, solanaPacketSize)...), errSolanaForm},
		"a table that is absent": {change(len(raw)-1, 1), errSolanaForm},
		"another instruction":    {change(atTransfer+7, 3), errSolanaTransfer}, // Transfer: without the mint
		"another program":        {change(atTransfer, 4), errSolanaTransfer},
		"accounts in a table":    {change(atTransfer+3, 9), errSolanaTransfer},
		"a second transfer":      {twice(raw), errSolanaTransfer},
	} {
		if _, err := readSolana(c.raw); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readSolana(change(atTransfer+5, 2)); err == nil {
		t.Error("an owner who did not sign was accepted")
	}
	for n := range raw {
		if _, err := readSolana(raw[:n]); err == nil {
			t.Fatalf("the first %d bytes were accepted", n)
		}
	}
}

// twice repeats the transfer.
func twice(raw []byte) []byte {
	transfer := raw[atTransfer : len(raw)-1]
	other := slices.Concat(raw[:len(raw)-1], transfer, []byte{0})
	other[atBlockhash+32]++
	return other
}

func TestSolanaTermsAreTheServers(t *testing.T) {
	s := facilitatortest.New(t)
	b := start(t, facing("one", s))
	const stranger = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"
	for _, c := range []struct {
		name, feePayer, mint string
		amount               uint64
		reason               string
	}{
		{"as asked", facilitatortest.FeePayer, usdcOnSolana, 1_000_000, ""},
		{"overpaid", facilitatortest.FeePayer, usdcOnSolana, 1_500_000, "amount"},
		{"underpaid", facilitatortest.FeePayer, usdcOnSolana, 999_999, "amount"},
		{"over 63 bits", facilitatortest.FeePayer, usdcOnSolana, 1<<63 + 1_000_000, "amount"},
		{"another token", facilitatortest.FeePayer, stranger, 1_000_000, "asset"},
		{"a stranger pays the fee", stranger, usdcOnSolana, 1_000_000, "fee_payer"},
		{"to another account", facilitatortest.FeePayer, usdcOnSolana, 1_000_000, "pay_to"},
		{"to the wallet itself", facilitatortest.FeePayer, usdcOnSolana, 1_000_000, "pay_to"},
	} {
		sent := facilitatortest.SVM(b.termsFor(t, SolanaID, oneDollar))
		raw := facilitatortest.SolanaTransaction(c.feePayer, c.mint, c.amount, [32]byte{9})
		switch c.name {
		case "to another account":
			raw[atDestination]++
		case "to the wallet itself":
			wallet := mustKey(solanaReceiver)
			copy(raw[atDestination:], wallet[:])
		}
		sent.Payload["transaction"] = base64.StdEncoding.EncodeToString(raw)
		proof, err := ParseProof(sent.Encode())
		if err != nil {
			t.Fatal(err)
		}
		payment, err := b.Match(proof, oneDollar)
		if reasonOf(err) != c.reason || (c.reason == "") != (err == nil) {
			t.Errorf("%s: %v (%s), want %q", c.name, err, reasonOf(err), c.reason)
		}
		if err == nil && (payment.Payer != facilitatortest.SolanaPayer || payment.Key != SolanaID+"|"+payment.Nonce ||
			payment.FeePayer != facilitatortest.FeePayer || !payment.ValidBefore.IsZero()) {
			t.Errorf("%+v", payment)
		}
	}
}

func TestFaultySolanaPayloads(t *testing.T) {
	terms := facilitatortest.Terms{Scheme: "exact", Network: SolanaID}
	for _, transaction := range []any{nil, 1, "", "!", "AAAA", "e30=", base64.StdEncoding.EncodeToString(transactionOf(1)) + "A"} {
		sent := facilitatortest.Payment{Version: 2, Accepted: terms, Payload: map[string]any{"transaction": transaction}}
		if _, err := ParseProof(sent.Encode()); reasonOf(err) != "malformed" && reasonOf(err) != "transaction" {
			t.Errorf("%v: %v", transaction, err)
		}
	}
}

func TestBase58(t *testing.T) {
	for _, key := range []string{usdcOnSolana, facilitatortest.FeePayer, "11111111111111111111111111111111", solanaReceiver} {
		b, ok := decodeBase58(key)
		if !ok || len(b) != solanaKeySize || encodeBase58(b) != key {
			t.Errorf("%s: %x", key, b)
		}
	}
	for _, text := range []string{"", "0", "O", "I", "l", "é", "1\x00", string(bytes.Repeat([]byte{'2'}, 89))} {
		if b, ok := decodeBase58(text); ok {
			t.Errorf("%q: %x", text, b)
		}
	}
	// The example of the format's draft.
	if got := encodeBase58([]byte("Hello World!")); got != "2NEpo7TZRRrLZSi2U" {
		t.Error(got)
	}
}

func FuzzSolanaTransaction(f *testing.F) {
	f.Add(transactionOf(1_000_000))
	f.Add(twice(transactionOf(1)))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := readSolana(raw)
		if err != nil {
			return
		}
		if p.hash == "" || len(raw) > solanaPacketSize {
			t.Fatalf("%+v of %d bytes", p, len(raw))
		}
		if _, err := readSolana(append(slices.Clone(raw), 0)); err == nil {
			t.Fatal("a trailing byte was accepted")
		}
	})
}
