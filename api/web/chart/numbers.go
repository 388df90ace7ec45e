package chart

import (
	"math"
	"strconv"
	"strings"
)

// Number writes a number for reading: separators, and at most three digits after the point.
func Number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case math.Abs(v) >= extreme || v != 0 && math.Abs(v) < 0.0005:
		return signed(strconv.FormatFloat(v, 'g', 4, 64))
	}
	text := strconv.FormatFloat(v, 'f', 3, 64)
	return Grouped(strings.TrimRight(strings.TrimRight(text, "0"), "."))
}

// Short writes a number in few characters, for a scale: 1.5k, 2M.
func Short(v float64) string {
	scales := []struct {
		unit float64
		sign string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}
	for _, s := range scales {
		if math.Abs(v) >= s.unit {
			return signed(strconv.FormatFloat(v/s.unit, 'g', 4, 64) + s.sign)
		}
	}
	return signed(strconv.FormatFloat(v, 'g', 4, 64))
}

// Grouped puts separators between the thousands of a decimal number.
func Grouped(decimal string) string {
	digits, negative := strings.CutPrefix(decimal, "-")
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	var b strings.Builder
	if negative {
		b.WriteString("−")
	}
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if hasFraction {
		b.WriteString("." + fraction)
	}
	return b.String()
}

func signed(s string) string { return strings.Replace(s, "-", "−", 1) }

// coordinate writes a place in the plot, to a hundredth.
func coordinate(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}
