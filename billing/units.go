// Package billing is the money of the service: units, dollars, the price table and what is derived from it.
// Amounts are integers from end to end; no floating-point number appears in this package.
package billing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Units is an amount in the ledger's money: 1 unit = $0.00001 = 10 micro-USDC.
type Units int64

// PerUSD is how many units make one dollar.
const PerUSD Units = 100_000

const (
	// unitDecimals is how many decimals of a dollar one unit stands for.
	unitDecimals = 5
	// shownDecimals is how many decimals a dollar string always has.
	shownDecimals = 2
	// wholeDigitsMax is how many digits may stand before the point.
	wholeDigitsMax = 9
)

// USD gives the amount as an exact decimal string of dollars with at least two decimals and no other
// trailing zeros: "0.00", "19.20", "0.032".
func (u Units) USD() string {
	sign, size := "", uint64(u)
	if u < 0 {
		// Unsigned negation is right for the smallest int64 too, which has no positive twin.
		sign, size = "-", -uint64(u)
	}
	whole := strconv.FormatUint(size/uint64(PerUSD), 10)
	part := fmt.Sprintf("%0*d", unitDecimals, size%uint64(PerUSD))
	for len(part) > shownDecimals && part[len(part)-1] == '0' {
		part = part[:len(part)-1]
	}
	return sign + whole + "." + part
}

var errAmount = errors.New(`must be dollars as a decimal string such as "19.20": 1 to 9 digits, no sign, exponent or spaces`)

// ParseUSD reads a decimal string of dollars exactly: 1 to 9 digits, then optionally a point and 1 to
// maxDecimals decimals (maxDecimals is 0 to 5). A tenth digit is read when the first is not zero, so that the
// largest pledge, "1000000000", fits. Signs, exponents, spaces and a leading or trailing point are errors.
// The range is the caller's to check.
func ParseUSD(s string, maxDecimals int) (Units, error) {
	whole, part, pointed := strings.Cut(s, ".")
	tenDigits := len(whole) == wholeDigitsMax+1 && whole[0] != '0'
	if len(whole) > wholeDigitsMax && !tenDigits {
		return 0, errAmount
	}
	dollars, ok := digits(whole)
	if !ok {
		return 0, errAmount
	}
	if !pointed {
		return dollars * PerUSD, nil
	}
	if len(part) > min(maxDecimals, unitDecimals) {
		return 0, fmt.Errorf("must be dollars with at most %d decimals", min(maxDecimals, unitDecimals))
	}
	fraction, ok := digits(part)
	if !ok {
		return 0, errAmount
	}
	for range unitDecimals - len(part) {
		fraction *= 10
	}
	return dollars*PerUSD + fraction, nil
}

// digits reads one or more ASCII digits; the caller has bounded their number.
func digits(s string) (Units, bool) {
	var n Units
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + Units(s[i]-'0')
	}
	return n, s != ""
}
