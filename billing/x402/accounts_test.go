package x402_test

import (
	"encoding/base64"
	"testing"

	"aanet/billing/x402"
	"aanet/billing/x402/facilitatortest"
)

func TestTokenAccounts(t *testing.T) {
	for wallet, account := range map[string]string{ // as the chain's own tools have them
		"7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv": "8qivCif5vUJSnr2PyYqeBM8hWDUZn1RUSv6mKBBSvJ92",
		"2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9": "Boa4U4LqByXXxDndijcYHHpfA8qf47SNYLV16zLYKxph",
		"CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5": "9fJvVo2wjcjuQ2wpss1Tjjw914DrkuikZ7aUd9ZwLgpx",
		"11111111111111111111111111111111":             "HJt8Tjdsc9ms9i4WCZEzhzr4oyf3ANcdzXrNdLPFqm3M",
	} {
		if got, err := x402.TokenAccount(wallet); err != nil || got != account {
			t.Errorf("%s has %s, %v", wallet, got, err)
		}
	}
	for _, wrong := range []string{"", "1", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "O0Il"} {
		if got, err := x402.TokenAccount(wrong); err == nil {
			t.Errorf("%q has %s", wrong, got)
		}
	}
}

// blockhashOfTests is base58 of 32 times the byte 7.
const blockhashOfTests = "US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx"

func solanaTransaction() []byte {
	var blockhash [32]byte
	for i := range blockhash {
		blockhash[i] = 7
	}
	return facilitatortest.SolanaTransaction(facilitatortest.FeePayer, mintOfTests, 1_000_000, blockhash)
}

const mintOfTests = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

func TestMessageIsTheSameWhoeverSigns(t *testing.T) {
	wire := solanaTransaction()
	m, err := x402.ReadSolanaMessage(wire)
	if err != nil || m.Durable || m.Blockhash != blockhashOfTests {
		t.Fatalf("%+v, %v", m, err)
	}
	wire[1]++ // the first byte of the fee payer's signature
	signed, err := x402.ReadSolanaMessage(wire)
	if err != nil || signed != m {
		t.Errorf("signed by the fee payer: %+v, %v", signed, err)
	}
	wire[len(wire)-3]++ // in the amount
	if other, err := x402.ReadSolanaMessage(wire); err != nil || other.Hash == m.Hash {
		t.Errorf("another amount: %+v, %v", other, err)
	}
}

// A transaction with a durable nonce outlives its blockhash.
func TestMessageWithADurableNonce(t *testing.T) {
	wire := []byte{0} // no signatures
	wire = append(wire, 1, 0, 1, 2)
	wire = append(wire, make([]byte, 31)...)
	wire = append(wire, 9)                   // the signer
	wire = append(wire, make([]byte, 32)...) // the system program
	wire = append(wire, make([]byte, 32)...) // the blockhash
	durable := append(wire[:len(wire):len(wire)], 1, 1, 1, 0, 4, 4, 0, 0, 0)
	if m, err := x402.ReadSolanaMessage(durable); err != nil || !m.Durable {
		t.Errorf("%+v, %v", m, err)
	}
	transfer := append(wire[:len(wire):len(wire)], 1, 1, 1, 0, 4, 2, 0, 0, 0)
	if m, err := x402.ReadSolanaMessage(transfer); err != nil || m.Durable {
		t.Errorf("another instruction: %+v, %v", m, err)
	}
	elsewhere := append(wire[:len(wire):len(wire)], 1, 0, 1, 0, 4, 4, 0, 0, 0)
	if m, err := x402.ReadSolanaMessage(elsewhere); err != nil || m.Durable {
		t.Errorf("another program: %+v, %v", m, err)
	}
}

func FuzzReadSolanaMessage(f *testing.F) {
	f.Add(solanaTransaction())
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 3})
	f.Fuzz(func(t *testing.T, wire []byte) {
		m, err := x402.ReadSolanaMessage(wire)
		if err != nil {
			return
		}
		if hash, err := base64.StdEncoding.DecodeString(m.Hash); err != nil || len(hash) != 32 || m.Blockhash == "" {
			t.Errorf("read as %+v", m)
		}
	})
}
