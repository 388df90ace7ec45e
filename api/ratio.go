package api

import "math/big"

// ratio is a × b ÷ c as a decimal string with two decimals, rounded down; exact integers inside.
func ratio(a, b, c int64) string {
	hundredths := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	hundredths.Mul(hundredths, big.NewInt(100))
	hundredths.Div(hundredths, big.NewInt(c))
	whole, rest := new(big.Int).DivMod(hundredths, big.NewInt(100), new(big.Int))
	digits := rest.String()
	if len(digits) == 1 {
		digits = "0" + digits
	}
	return whole.String() + "." + digits
}
