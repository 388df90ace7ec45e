package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFormatTimeHasSixDigitsAndZ(t *testing.T) {
	east := time.FixedZone("", 3600)
	for want, at := range map[string]time.Time{
		"2026-11-30T12:00:00.000000Z": time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		"2026-11-30T12:00:00.000001Z": time.Date(2026, 11, 30, 13, 0, 0, 1000, east),
		"2026-11-30T12:00:00.500000Z": time.Date(2026, 11, 30, 12, 0, 0, 500_000_000, time.UTC),
		"2026-11-30T12:00:00.999999Z": time.Date(2026, 11, 30, 12, 0, 0, 999_999_999, time.UTC),
		"0001-01-01T00:00:00.000000Z": {},
	} {
		if got := FormatTime(at); got != want {
			t.Errorf("FormatTime(%v) = %q, want %q", at, got, want)
		}
	}
}

func TestStringOrderIsTimeOrder(t *testing.T) {
	start := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	var shown []string
	for _, after := range []time.Duration{0, 1, 10, 15, 100, 150, 99_999, 500_000, 999_999, 1_000_000, 1_000_001} {
		shown = append(shown, FormatTime(start.Add(after*time.Microsecond)))
	}
	if !slices.IsSorted(shown) {
		t.Errorf("out of order: %q", shown)
	}
}

func TestTimeInJSON(t *testing.T) {
	at := Time{time.Date(2026, 11, 30, 12, 0, 0, 120_000_000, time.FixedZone("", -3600))}
	got, err := json.Marshal(struct {
		At   Time  `json:"at"`
		Last *Time `json:"last"`
	}{At: at})
	if want := `{"at":"2026-11-30T13:00:00.120000Z","last":null}`; err != nil || string(got) != want {
		t.Errorf("Marshal = %s, %v; want %s", got, err, want)
	}
	if text, _ := at.MarshalText(); string(text) != at.String() || at.String() != "2026-11-30T13:00:00.120000Z" {
		t.Errorf("as text %q, as string %q", text, at)
	}
}

func TestParseTimeReadsOneInstantInEverySpelling(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30t12:00:00z", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T12:00:00+00:00", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T12:00:00-00:00", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T12:00:00 00:00", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T17:30:00 05:30", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T17:30:00+05:30", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T05:00:00-07:00", "2026-11-30T12:00:00.000000Z"},
		{"2026-12-01T11:59:00+23:59", "2026-11-30T12:00:00.000000Z"},
		{"2026-11-30T12:00:00.1Z", "2026-11-30T12:00:00.100000Z"},
		{"2026-11-30T12:00:00.000001Z", "2026-11-30T12:00:00.000001Z"},
		{"2026-11-30T12:00:00.0000019Z", "2026-11-30T12:00:00.000001Z"},
		{"2026-11-30T12:00:00.999999999Z", "2026-11-30T12:00:00.999999Z"},
		{"2026-11-30T12:00:00.1" + strings.Repeat("0", 100_000) + "Z", "2026-11-30T12:00:00.100000Z"},
		{"1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999Z"},
		{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"},
		{"2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"},
		{"0000-12-31T23:00:00-01:00", "0001-01-01T00:00:00.000000Z"},
		{"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
	} {
		got, fault := ParseTime(c.text)
		if fault != "" || FormatTime(got) != c.want || got.Location() != time.UTC {
			t.Errorf("ParseTime(%.60q) = %v, %q; want %s", c.text, got, fault, c.want)
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	const long = "2026-11-30T12:00:00."
	for _, text := range []string{
		"", "now", "yesterday", "today", "infinity", "-infinity", "epoch", "0", "1764504000", "1764504000000", "1e9",
		"2026", "2026-11-30", "2026-11-30T12:00", "2026-11-30T12:00Z", "2026-11-30T12Z", "2026-11-30T12:00:00",
		"2026-11-30 12:00:00Z", "2026-11-30T12:00:00 Z", " 2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z ", "2026-11-30T12:00:00ZZ",
		"2026-11-30T12:00:00+0000", "2026-11-30T12:00:00+00", "2026-11-30T12:00:00+24:00", "2026-11-30T12:00:00+00:60",
		"2026-11-30T12:00:00+1:00", "2026-11-30T12:00:00_01:00", "2026-11-30T12:00:00+01-00", "2026-11-30T12:00:00 UTC", "2026-11-30T12:00:00[UTC]",
		"2026-11-30T12:00:00Europe/Paris", "2026-11-30T24:00:00Z", "2026-11-30T23:60:00Z", "2026-11-30T23:59:60Z",
		"2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-00-10T00:00:00Z", "2026-13-01T00:00:00Z",
		"2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-1-1T00:00:00Z", "2026-11-30T1:00:00Z", "20261130T120000Z",
		"2026-W49-1T12:00:00Z", "26-11-30T12:00:00Z", "+2026-11-30T12:00:00Z", "-2026-11-30T12:00:00Z", "02026-11-30T12:00:00Z",
		"294277-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01",
		"9999-12-31T23:59:59-23:59", "2026-11-30T12:00:00.Z", "2026-11-30T12:00:00,5Z", "2026-11-30T12:00:00.123456", "2026-11-30T12:00:00.1234567890",
		long, long + "5", "2026-11-30T12:00:00.-5Z", long + strings.Repeat("1", 100_000), "２０２６-11-30T12:00:00Z",
		"2026-11-30T12:00:00Z\x00", "2026-11-30T12:00:0\x00Z", "2026-11-30T12:00:00\u202f01:00", "\xff026-11-30T12:00:00Z", "Mon, 30 Nov 2026 12:00:00 GMT",
	} {
		if got, fault := ParseTime(text); fault == "" {
			t.Errorf("ParseTime(%.60q) = %v, want a fault", text, got)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{
		"2026-11-30T12:00:00.000001Z", "2026-11-30t12:00:00 05:30", "9999-12-31T23:59:59-23:59", "0000-12-31T23:59:59-00:01",
		"2024-02-29T23:59:59.123456789+00:00", "now", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, fault := ParseTime(text)
		if fault != "" {
			return
		}
		shown := FormatTime(got)
		again, fault := ParseTime(shown)
		if fault != "" || !again.Equal(got) || len(shown) != len(timeLayout) {
			t.Fatalf("%q is shown as %q, which reads as %v, %q", text, shown, again, fault)
		}
		// The standard parser must agree once the two liberties are spelt its way.
		canonical := strings.ToUpper(strings.ReplaceAll(text, " ", "+"))
		want, err := time.Parse(time.RFC3339Nano, canonical)
		if err != nil || !want.Truncate(time.Microsecond).Equal(got) {
			t.Fatalf("ParseTime(%q) = %v, time.Parse says %v, %v", text, got, want, err)
		}
	})
}
