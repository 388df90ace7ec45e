package x402

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"
)

func TestCheckWallet(t *testing.T) {
	base, _ := ByShort("base")
	solana, _ := ByShort("solana")
	for _, c := range []struct {
		network Network
		address string
		fault   string // empty: it is fine
	}{
		{base, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", ""}, // from EIP-55
		{base, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", ""},
		{base, "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", ""},
		{base, "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", ""},
		{base, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "EIP-55"},
		{base, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe", "not an address"},
		{base, "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "not an address"},
		{base, "0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "not an address"},
		{base, " 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "not an address"},
		{base, "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\x00", "not an address"},
		{base, "0x0000000000000000000000000000000000000000", "zero address"},
		{base, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "token itself"},
		{base, "7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv", "not an address"},
		{base, "", "not an address"},
		{solana, "7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv", ""},
		{solana, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "not a Solana address"},
		{solana, "7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXA", "not a Solana address"},
		{solana, "7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv ", "not a Solana address"},
		{solana, "11111111111111111111111111111111", "not a wallet"},
		{solana, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "not a wallet"},
		{solana, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "not a wallet"},
		{solana, "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "not a wallet"},
		{solana, "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", "not a wallet"},
		{solana, "SysvarRent111111111111111111111111111111111", "not a wallet"},
		{solana, "ComputeBudget111111111111111111111111111111", "not a wallet"},
	} {
		err := c.network.CheckWallet(c.address)
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s %q: got %v, want %q", c.network.Name, c.address, err, c.fault)
		}
	}
}

// About half of all 32 bytes are on the curve, and every public key is.
func TestOnCurve(t *testing.T) {
	for range 200 {
		public, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if !onCurve(public) {
			t.Fatalf("the public key %x is not on the curve", public)
		}
	}
	off := 0
	for range 200 {
		var b [32]byte
		_, _ = rand.Read(b[:])
		if !onCurve(b[:]) {
			off++
		}
	}
	if off < 60 || off > 140 {
		t.Errorf("%d of 200 random values are off the curve; about half must be", off)
	}
	// y = 2 is a known value without a point.
	two := make([]byte, 32)
	two[0] = 2
	if onCurve(two) {
		t.Error("y = 2 is taken for a point")
	}
}

func TestCheckTransaction(t *testing.T) {
	base, _ := ByShort("base")
	solana, _ := ByShort("solana")
	hash := strings.Repeat("aB", 32)
	signature := encodeBase58([]byte(strings.Repeat("\x07", 64)))
	for _, c := range []struct {
		network    Network
		text, want string // empty: refused
	}{
		{base, "0x" + hash, "0x" + strings.ToLower(hash)},
		{base, hash, ""},
		{base, "0x" + hash[1:], ""},
		{base, "0x" + hash + "00", ""},
		{base, signature, ""},
		{solana, signature, signature},
		{solana, "0x" + hash, ""},
		{solana, signature[1:], ""},
		{solana, "", ""},
	} {
		got, err := c.network.CheckTransaction(c.text)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %q: got %q, %v", c.network.Name, c.text, got, err)
		}
	}
}

func FuzzCheckWallet(f *testing.F) {
	f.Add("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	f.Add("7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv")
	base, _ := ByShort("base")
	solana, _ := ByShort("solana")
	f.Fuzz(func(t *testing.T, address string) {
		if base.CheckWallet(address) == nil {
			raw, err := hex.DecodeString(address[2:])
			if err != nil || len(raw) != 20 || address[:2] != "0x" {
				t.Errorf("%q is taken for an address", address)
			}
		}
		if solana.CheckWallet(address) == nil {
			raw, ok := decodeBase58(address)
			if !ok || len(raw) != 32 || encodeBase58(raw) != address {
				t.Errorf("%q is taken for a key", address)
			}
		}
	})
}
