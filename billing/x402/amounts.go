package x402

import (
	"errors"
	"strconv"

	"aanet/billing"
)

// MinDeposit and MaxDeposit bound one deposit, in units: $0.25 to $100,000.
const (
	MinDeposit = billing.PerUSD / 4
	MaxDeposit = 100_000 * billing.PerUSD
)

// atomicPerUnit is how many of the token's smallest parts (10^-6 USDC) make one unit ($0.00001).
const atomicPerUnit = 10

const amountDecimals = 5

var errAmountRange = errors.New(`must be at least "0.25" and at most "100000"`)

// ParseAmount reads amount_usd exactly: 1 to 9 digits with at most 5 decimals, from "0.25" to "100000".
func ParseAmount(usd string) (billing.Units, error) {
	units, err := billing.ParseUSD(usd, amountDecimals)
	if err != nil {
		return 0, err
	}
	if units < MinDeposit || units > MaxDeposit {
		return 0, errAmountRange
	}
	return units, nil
}

// Atomic gives an amount as the integer string of 10^-6 USDC that x402 speaks in. Any amount of a deposit fits.
func Atomic(units billing.Units) string {
	return strconv.FormatInt(int64(units)*atomicPerUnit, 10)
}
