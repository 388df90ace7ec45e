package billing

import "strconv"

// What passing the same context between agents as model tokens costs: the other side of the estimate.
const (
	relayTokensPerRound       = 9_600
	relayLowUSDPerMillion     = 2
	relayHighUSDPerMillion    = 10
	tokensPerUnitAtUSDMillion = 10 // at $1 per million tokens, one unit ($0.00001) buys ten tokens
)

// Estimate compares coordinating through files and locks with relaying everything through a model.
// Dollars and ratios are exact decimal strings.
type Estimate struct {
	Rounds           int64  `json:"rounds"`
	AANetUnits       Units  `json:"aanet_units"`
	AANetUSD         string `json:"aanet_usd"`
	RelayTokens      int64  `json:"relay_tokens"`
	RelayUSDLow      string `json:"relay_usd_low"`
	RelayUSDHigh     string `json:"relay_usd_high"`
	SavingsRatioLow  string `json:"savings_ratio_low"`
	SavingsRatioHigh string `json:"savings_ratio_high"`
}

// EstimateSavings works out the comparison for so many agents doing so many rounds each.
// Both are at least 1 and at most 1,000; the caller has checked that.
func EstimateSavings(agents, roundsPerAgent int) Estimate {
	rounds := int64(agents) * int64(roundsPerAgent)
	tokens := rounds * relayTokensPerRound
	units := Units(rounds) * RoundPrice()
	low := Units(tokens * relayLowUSDPerMillion / tokensPerUnitAtUSDMillion)
	high := Units(tokens * relayHighUSDPerMillion / tokensPerUnitAtUSDMillion)
	return Estimate{
		Rounds:           rounds,
		AANetUnits:       units,
		AANetUSD:         units.USD(),
		RelayTokens:      tokens,
		RelayUSDLow:      low.USD(),
		RelayUSDHigh:     high.USD(),
		SavingsRatioLow:  strconv.FormatInt(int64(low/units), 10),
		SavingsRatioHigh: strconv.FormatInt(int64(high/units), 10),
	}
}

// RoundPrice is the price of one round of coordination: a 1 KiB write, a read, and a lock acquired and released.
func RoundPrice() Units {
	return PriceOf("write_file").For(kib) + PriceOf("read_file").For(0) +
		PriceOf("acquire_lock").For(0) + PriceOf("release_lock").For(0)
}
