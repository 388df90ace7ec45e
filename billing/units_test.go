package billing

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
)

func TestUSDIsExact(t *testing.T) {
	for _, c := range []struct {
		units Units
		want  string
	}{
		{0, "0.00"},
		{1, "0.00001"},
		{10, "0.0001"},
		{1_000, "0.01"},
		{3_200, "0.032"},
		{29_000, "0.29"},
		{100_000, "1.00"},
		{1_920_000, "19.20"},
		{123_456_789, "1234.56789"},
		{-1, "-0.00001"},
		{-1_920_000, "-19.20"},
		{math.MaxInt64, "92233720368547.75807"},
		{math.MinInt64, "-92233720368547.75808"},
	} {
		if got := c.units.USD(); got != c.want {
			t.Errorf("Units(%d).USD() = %q, want %q", c.units, got, c.want)
		}
	}
}

func TestParseUSDReadsExactly(t *testing.T) {
	for _, c := range []struct {
		text        string
		maxDecimals int
		want        Units
	}{
		{"0", 5, 0},
		{"0.25", 5, 25_000},
		{"0.29", 5, 29_000},
		{"8.2", 5, 820_000},
		{"0.00001", 5, 1},
		{"100000", 5, 10_000_000_000},
		{"100000.00000", 5, 10_000_000_000},
		{"999999999.99999", 5, 99_999_999_999_999},
		{"007", 5, 700_000},
		{"0.00", 2, 0},
		{"1000000000", 2, 100_000_000_000_000},
		{"1000000000.01", 2, 100_000_000_001_000},
		{"5", 0, 500_000},
	} {
		got, err := ParseUSD(c.text, c.maxDecimals)
		if err != nil || got != c.want {
			t.Errorf("ParseUSD(%q, %d) = %d, %v; want %d", c.text, c.maxDecimals, got, err, c.want)
		}
	}
}

func TestParseUSDRefusesOtherSpellings(t *testing.T) {
	for _, text := range []string{
		"", ".", "1.", ".5", "1..2", "1.2.3", "+1", "-1", "-0", "1e3", "1E3", "0x10", "1_000", "1,000", "1,5",
		" 1", "1 ", "1 000", "1\n", "$1", "NaN", "Inf", "Infinity", "1/2", "٣", "１", "1\x00", "\xff",
		"0.000001", "0.123456", "0000000001", "12345678901", strings.Repeat("9", 100_000), "1." + strings.Repeat("0", 100_000),
	} {
		if got, err := ParseUSD(text, 5); err == nil {
			t.Errorf("ParseUSD(%.40q, 5) = %d, want an error", text, got)
		}
	}
	for text, maxDecimals := range map[string]int{"0.001": 2, "1.000": 2, "1.0": 0, "1.": 0} {
		if got, err := ParseUSD(text, maxDecimals); err == nil {
			t.Errorf("ParseUSD(%q, %d) = %d, want an error", text, maxDecimals, got)
		}
	}
}

func FuzzParseUSD(f *testing.F) {
	for _, seed := range []string{"0", "0.25", "19.20", "1000000000", "0.00001", "1.", ".5", "1e3", "+1", "007.1"} {
		f.Add(seed, 5)
	}
	f.Add("0.01", 2)
	f.Add("1.0", -1)
	grammar := regexp.MustCompile(`^(?:[0-9]{1,9}|[1-9][0-9]{9})(?:\.([0-9]+))?$`)
	f.Fuzz(func(t *testing.T, text string, maxDecimals int) {
		got, err := ParseUSD(text, maxDecimals)
		match := grammar.FindStringSubmatch(text)
		legal := match != nil && len(match[1]) <= max(0, min(maxDecimals, 5))
		if (err == nil) != legal {
			t.Fatalf("ParseUSD(%q, %d) = %d, %v; legal is %v", text, maxDecimals, got, err, legal)
		}
		if !legal {
			return
		}
		exact, _ := new(big.Rat).SetString(text)
		exact.Mul(exact, big.NewRat(int64(PerUSD), 1))
		if exact.Cmp(big.NewRat(int64(got), 1)) != 0 {
			t.Fatalf("ParseUSD(%q) = %d units, want %s", text, got, exact)
		}
		if again, err := ParseUSD(got.USD(), 5); err != nil || again != got {
			t.Fatalf("%d units are shown as %q, which reads as %d, %v", got, got.USD(), again, err)
		}
	})
}
