package x402

import (
	"math/big"
	"regexp"
	"testing"

	"aanet/billing"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		usd    string
		units  billing.Units
		atomic string
	}{
		{"0.25", 25_000, "250000"},
		{"0.25000", 25_000, "250000"},
		{"0.25001", 25_001, "250010"},
		{"0.29", 29_000, "290000"},
		{"1", 100_000, "1000000"},
		{"1.1", 110_000, "1100000"},
		{"001", 100_000, "1000000"},
		{"4.35", 435_000, "4350000"},
		{"8.20", 820_000, "8200000"},
		{"1234.56789", 123_456_789, "1234567890"},
		{"99999.99999", 9_999_999_999, "99999999990"},
		{"100000", 10_000_000_000, "100000000000"},
		{"100000.00000", 10_000_000_000, "100000000000"},
	} {
		units, err := ParseAmount(c.usd)
		if err != nil || units != c.units || Atomic(units) != c.atomic {
			t.Errorf("%q: %d units, %s atomic, %v; want %d, %s", c.usd, units, Atomic(units), err, c.units, c.atomic)
		}
	}
}

func TestAmountsRefused(t *testing.T) {
	for _, usd := range []string{
		"", "0", "0.0", "0.2", "0.24999", "100000.00001", "100001", "999999999", "1000000000", "2500000.00",
		"1e3", "-5", "+5", "$1", "1.", ".5", "1,00", " 1", "1 ", "1.0000005", "0.250000", "NaN", "Inf", "0x10", "1\x00", "１",
	} {
		if units, err := ParseAmount(usd); err == nil {
			t.Errorf("%q was read as %d units", usd, units)
		}
	}
}

func FuzzAmount(f *testing.F) {
	for _, seed := range []string{"0.25", "100000", "100000.00001", "0.24999", "1e3", "-1", "00.3", "12345678901"} {
		f.Add(seed)
	}
	grammar := regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,5})?$`)
	least, most := big.NewRat(1, 4), big.NewRat(100_000, 1)
	f.Fuzz(func(t *testing.T, usd string) {
		units, err := ParseAmount(usd)
		exact := new(big.Rat)
		legal := grammar.MatchString(usd)
		if legal {
			exact.SetString(usd)
			legal = exact.Cmp(least) >= 0 && exact.Cmp(most) <= 0
		}
		if (err == nil) != legal {
			t.Fatalf("%q: %d, %v; legal is %v", usd, units, err, legal)
		}
		if !legal {
			return
		}
		exact.Mul(exact, big.NewRat(1_000_000, 1))
		if !exact.IsInt() || exact.Num().String() != Atomic(units) {
			t.Fatalf("%q is %s atomic, want %s", usd, Atomic(units), exact)
		}
	})
}
