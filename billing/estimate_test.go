package billing

import "testing"

func TestEstimateSavings(t *testing.T) {
	for _, c := range []struct {
		agents, rounds int
		want           Estimate
	}{
		{1, 1, Estimate{1, 16, "0.00016", 9_600, "0.0192", "0.096", "120", "600"}},
		{10, 10, Estimate{100, 1_600, "0.016", 960_000, "1.92", "9.60", "120", "600"}},
		{10, 20, Estimate{200, 3_200, "0.032", 1_920_000, "3.84", "19.20", "120", "600"}},
		{1000, 1000, Estimate{1_000_000, 16_000_000, "160.00", 9_600_000_000, "19200.00", "96000.00", "120", "600"}},
	} {
		if got := EstimateSavings(c.agents, c.rounds); got != c.want {
			t.Errorf("%d agents × %d rounds:\n got %+v\nwant %+v", c.agents, c.rounds, got, c.want)
		}
	}
}

// The ratios are printed as whole numbers, which is exact only while the prices divide evenly.
func TestRatiosAreWhole(t *testing.T) {
	low := Units(relayTokensPerRound * relayLowUSDPerMillion / tokensPerUnitAtUSDMillion)
	if relayTokensPerRound*relayLowUSDPerMillion%tokensPerUnitAtUSDMillion != 0 || low%RoundPrice() != 0 {
		t.Errorf("%d units a relayed round is no multiple of %d units a round", low, RoundPrice())
	}
}
