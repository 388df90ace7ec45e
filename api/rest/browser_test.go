package rest_test

import (
	"strings"
	"testing"

	"aanet/api/web/browsertest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

// Each public page can be used by anybody, at any size and in both colour schemes.
func TestPagesInABrowser(t *testing.T) {
	s := start(t, nil)
	for _, size := range browsertest.Sizes {
		tab := browsertest.Open(t, size, browsertest.Light)
		tab.Expect("status of 404")
		for name, path := range map[string]string{"first": "/", "docs": "/docs", "pricing": "/pricing", "status": "/status", "nowhere": "/nowhere"} {
			tab.Go(s.url + path)
			tab.Check()
			tab.Shot(name)
			tab.Prefer(browsertest.Dark)
			tab.Shot(name)
			tab.Prefer(browsertest.Light)
		}
		tab.Go(s.url + "/docs#write_file")
		tab.Until("the operation to be in sight", `(() => { const b = document.getElementById("write_file").getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight })()`)
	}
}

// A visitor works out what it saves, also with a mistake on the way, without a script.
func TestCalculatorInABrowser(t *testing.T) {
	s := start(t, nil)
	for _, size := range browsertest.Sizes {
		tab := browsertest.Open(t, size, browsertest.Light)
		tab.Expect("status of 422")
		tab.Go(s.url + "/")
		tab.See("#estimate", "200 rounds cost $0.032 here, and $3.84 to $19.20 relayed: 120 to 600 times as much.")
		for _, wrong := range []struct{ agents, rounds, fault, says string }{
			{"0", "20", "#agents-fault", "Agents must be an integer from 1 to 1000."}, {"1001", "20", "#agents-fault", "Agents must be an integer from 1 to 1000."},
			{"10", "many", "#rounds-fault", "Rounds of each agent must be an integer from 1 to 1000."}, {"1.5", "20", "#agents-fault", "Agents must be an integer from 1 to 1000."},
			{`"><script>alert(1)</script>`, "20", "#agents-fault", "Agents must be an integer from 1 to 1000."}, {"", "20", "#agents-fault", "Agents must be an integer from 1 to 1000."},
		} {
			tab.Fill("#agents", wrong.agents)
			tab.Fill("#rounds", wrong.rounds)
			tab.Submit("button", "Work it out")
			tab.See(wrong.fault, wrong.says)
			if got := browsertest.Eval[string](tab, `document.querySelector("#agents").value`); got != wrong.agents {
				t.Errorf("%q became %q", wrong.agents, got)
			}
			if tab.Count("#estimate") != 0 || tab.Count("[aria-invalid=true]") != 1 {
				t.Errorf("%q × %q: an estimate", wrong.agents, wrong.rounds)
			}
		}
		tab.Check()
		tab.Shot("calculator-refused")
		tab.Fill("#agents", "1000")
		tab.Fill("#rounds", "1000")
		tab.Enter("#rounds")
		tab.See("#estimate", "1,000,000 rounds cost $160.00 here, and $19,200.00 to $96,000.00 relayed: 120 to 600 times as much.")
		tab.See("#estimate .chart", "9,600,000,000 tokens")
		if !strings.HasSuffix(tab.Address(), "/?agents=1000&rounds_per_agent=1000#savings") {
			t.Error(tab.Address())
		}
		tab.Check()
		tab.Shot("calculator")
	}
}
