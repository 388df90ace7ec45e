package cli

import (
	"strconv"

	"aanet/api/client"
)

func balanceCommands() []*command {
	return []*command{
		{
			name: "whoami", group: groupWork, summary: "show which key this is and what it may do", run: runWhoami,
			detail:  "Shows the key, its workspace, its scope and its limits. Free.",
			example: "aanet whoami",
		},
		{
			name: "balance", group: groupWork, summary: "show what this key can still spend", run: runBalance,
			detail:  "Shows what the workspace has, and what this key may still spend of it. Free.",
			example: "aanet balance",
		},
		{
			name: "pricing", group: groupWork, summary: "show prices and limits", run: runPricing,
			detail:  "Shows the price of every operation and the limits of this service. Free; needs no key.",
			example: "aanet pricing",
		},
		{
			name: "estimate", group: groupWork, args: "AGENTS ROUNDS", min: 2, max: 2, summary: "estimate what coordination here saves", run: runEstimate,
			detail:  "Compares ROUNDS of work by each of AGENTS agents here with relaying the same through a model. Free; needs no key.",
			example: "aanet estimate 10 20",
		},
		{
			name: "feedback", group: groupWork, args: "TITLE [TEXT]", min: 1, max: 2, summary: "tell the operator what is wrong or missing", run: runFeedback,
			detail:  "Sends a title and a text to the operator. Free.",
			example: "aanet feedback 'locks by pattern' 'I would like to list locks by prefix.' --category feature",
			flags:   []option{{"category", "WORD", "bug, feature, pricing or other (other)"}, {"pledge", "USD", "what an answer would be worth to you (0)"}},
		},
		{
			name: "forecast", group: groupOwner, summary: "show how long the balance will last", run: runForecast,
			detail:  "Shows the spend of the last hour, day and week, how long the balance lasts at that rate, and who spends most. Free; owner key.",
			example: "aanet forecast",
		},
	}
}

func runWhoami(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.BalanceOut, error) { return agent.GetRemainingBalance(c.ctx, raw) },
		func(b client.BalanceOut) {
			k := b.Key
			rows := [][]string{{"service", c.identity.url}, {"workspace", b.WorkspaceID}, {"key", k.Kind}}
			if k.SubkeyID != nil {
				rows = append(rows, []string{"id", *k.SubkeyID}, []string{"label", textOr(k.Label, "")}, []string{"scope", textOr(k.PathScopePrefix, "everything")})
			}
			if c.identity.profile != "" {
				rows = append(rows, []string{"profile", c.identity.profile})
			}
			table(c.Stdout, append(rows, []string{"can spend", units(b.Remaining)}))
		})
}

func runBalance(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.BalanceOut, error) { return agent.GetRemainingBalance(c.ctx, raw) },
		func(b client.BalanceOut) {
			rows := [][]string{{"can spend", units(b.Remaining)}, {"workspace", units(b.WorkspaceBalance)}}
			if b.KeyBudgetRemaining != nil {
				rows = append(rows, []string{"left of the budget", units(*b.KeyBudgetRemaining)})
			}
			if b.KeyWindowRemaining != nil {
				rows = append(rows, []string{"left of the spend limits", units(*b.KeyWindowRemaining)})
			}
			table(c.Stdout, append(rows, []string{"spent by this key", units(b.Key.SpentSoFar)}))
		})
}

func runPricing(c *call) error {
	anyone, err := c.anyone()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.PricingOut, error) { return anyone.GetPricing(c.ctx, raw) },
		func(p client.PricingOut) {
			rows := [][]string{{"OPERATION", "UNITS", "PER KIB"}}
			for _, o := range p.Operations {
				perKiB := ""
				if o.UnitsPerKiB > 0 {
					perKiB = grouped(o.UnitsPerKiB)
				}
				rows = append(rows, []string{o.Operation, grouped(o.Units), perKiB})
			}
			table(c.Stdout, append(rows, []string{"webhook attempt", grouped(p.WebhookAttempt)}))
			c.say("")
			table(c.Stdout, [][]string{
				{"1 unit", "$" + p.UnitUSD}, {"a file", "at most " + grouped(p.FileBytesMax) + " bytes"}, {"sub-keys", "at most " + grouped(p.SubkeysMax)},
				{"a trial", grouped(p.TrialUnits) + " units, " + grouped(p.TrialSeconds/3600) + " h"},
				{"a refund", "$" + p.RefundFeesUSD.Base + " on base, $" + p.RefundFeesUSD.Solana + " on solana"},
			})
		})
}

func runEstimate(c *call) error {
	in := client.EstimateSavingsIn{}
	var err error
	if in.Agents, err = strconv.ParseInt(c.arg(0), 10, 64); err == nil {
		in.RoundsPerAgent, err = strconv.ParseInt(c.arg(1), 10, 64)
	}
	if err != nil {
		return usagef("AGENTS and ROUNDS are whole numbers")
	}
	anyone, err := c.anyone()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.Estimate, error) { return anyone.EstimateSavings(c.ctx, in, raw) },
		func(e client.Estimate) {
			table(c.Stdout, [][]string{
				{"rounds", grouped(e.Rounds)}, {"here", grouped(e.AANetUnits) + " units ($" + e.AANetUSD + ")"},
				{"through a model", grouped(e.RelayTokens) + " tokens ($" + e.RelayUSDLow + " to $" + e.RelayUSDHigh + ")"},
				{"that is", e.SavingsRatioLow + " to " + e.SavingsRatioHigh + " times as much"},
			})
		})
}

func runFeedback(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.SubmitFeedbackIn{Category: "other", Title: c.arg(0), Description: c.arg(1), PledgedBudgetUSD: "0"}
	if category := c.values["category"]; category != "" {
		in.Category = category
	}
	if pledge := c.values["pledge"]; pledge != "" {
		in.PledgedBudgetUSD = pledge
	}
	if in.Description == "" {
		if in.Description, err = c.content(); err != nil {
			return err
		}
	}
	return show(c, func(raw client.CallOption) (client.FeedbackOut, error) { return agent.SubmitFeedback(c.ctx, in, raw) },
		func(out client.FeedbackOut) { c.say("thank you: %s", out.FeedbackID) })
}

func runForecast(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.ForecastOut, error) { return owner.GetForecast(c.ctx, raw) },
		func(f client.ForecastOut) {
			c.say("balance: %s\n", units(f.Balance))
			rows := [][]string{{"OVER", "SPENT", "PER HOUR", "LASTS"}}
			for _, w := range f.Windows {
				lasts := "no end"
				if w.RunwayHours != nil {
					lasts = *w.RunwayHours + " h"
				}
				rows = append(rows, []string{w.Window, grouped(w.Spent), w.SpendPerHour, lasts})
			}
			table(c.Stdout, rows)
			if len(f.TopSpenders) > 0 {
				rows = [][]string{{"KEY", "SPENT IN 24 H"}}
				for _, s := range f.TopSpenders {
					rows = append(rows, []string{holder(s.SubkeyID), grouped(s.Spent)})
				}
				c.say("")
				table(c.Stdout, rows)
			}
		})
}
