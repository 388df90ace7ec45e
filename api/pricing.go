package api

import (
	"context"
	"maps"
	"slices"
	"time"

	"aanet/billing"
)

func pricingOps() []*Op {
	return []*Op{
		op(Def{
			Name: "estimate_savings", Method: "GET", Path: "/v1/estimate", Who: Anyone, Price: billing.PriceOf("estimate_savings"),
			ReadOnly: true, Idempotent: true,
			Summary: "Estimate savings.",
			Doc: `Compares rounds of work here (16 units each) with relaying context through a model (9,600 tokens at $2 to $10 per million). Free; no key needed. ` +
				`Refusals: INVALID_ARGUMENT.`,
		}, estimateSavings),
		op(Def{
			Name: "get_pricing", Method: "GET", Path: "/v1/pricing", Who: Anyone, Price: billing.PriceOf("get_pricing"),
			ReadOnly: true, Idempotent: true,
			Summary: "Show prices and limits.",
			Doc:     `Every price in units of $0.00001, and the limits in force. Free; no key needed.`,
		}, getPricing),
		op(Def{
			Name: "get_remaining_balance", Log: "GET_BALANCE", Method: "GET", Path: "/v1/balance", Who: AnyKey, Price: billing.PriceOf("get_remaining_balance"),
			WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Show this key and its balance.",
			Doc: `remaining: units this key can spend now, the least of balance, cap and spend limits; key: kind, id, label, scope, cap, spend. Free; any key. Refusals: ` +
				`UNAUTHENTICATED.`,
		}, remainingBalance),
		op(Def{
			Name: "get_forecast", Log: "GET_FORECAST", Method: "GET", Path: workspacePath + "/forecast", Who: Owner, Price: billing.PriceOf("get_forecast"),
			WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Show how long the balance will last.",
			Doc: `Spend per hour and hours of runway as seen over the last hour, day and week (each says since when and how many seconds it covers; runway is null ` +
				`without spend), and the ten keys that spent most in 24 hours. Free; owner key. Refusals: OWNER_ONLY.`,
		}, getForecast),
	}
}

// EstimateIn is the input of estimate_savings.
type EstimateIn struct {
	Agents         int64 `json:"agents" min:"1" max:"1000" doc:"Agents in the swarm."`
	RoundsPerAgent int64 `json:"rounds_per_agent" min:"1" max:"1000" doc:"Rounds each agent makes."`
}

func estimateSavings(_ context.Context, _ *Caller, in EstimateIn) (billing.Estimate, error) {
	return billing.EstimateSavings(int(in.Agents), int(in.RoundsPerAgent)), nil
}

// PricingOut is the price table and the limits in force.
type PricingOut struct {
	UnitUSD           string     `json:"unit_usd"`
	UnitsPerUSD       int64      `json:"units_per_usd"`
	WebhookAttempt    int64      `json:"webhook_attempt"`
	Operations        []PriceOut `json:"operations"`
	FileBytesMax      int        `json:"file_bytes_max"`
	SubkeysMax        int        `json:"subkeys_max"`
	TrialUnits        int64      `json:"trial_units"`
	TrialSeconds      int64      `json:"trial_seconds"`
	RequestBodyBytes  int        `json:"request_body_bytes_max"`
	RequestHeaderSize int        `json:"request_header_bytes_max"`
	RefundFeesUSD     RefundFees `json:"refund_fees_usd"`
	Limits            Limits     `json:"limits"`
}

// RefundFees are what is kept of a refund on each network, in dollars.
type RefundFees struct {
	Base   string `json:"base"`
	Solana string `json:"solana"`
}

// PriceOut is the price of one operation in units.
type PriceOut struct {
	Operation string `json:"operation"`
	Units     int64  `json:"units"`
	PerKiB    int64  `json:"units_per_kib"`
}

func getPricing(_ context.Context, c *Caller, _ struct{}) (PricingOut, error) {
	return c.svc.Pricing(), nil
}

// Pricing is the price table and the limits in force.
func (s *Service) Pricing() PricingOut {
	out := PricingOut{
		UnitUSD: billing.Units(1).USD(), UnitsPerUSD: int64(billing.PerUSD), WebhookAttempt: int64(billing.WebhookAttempt),
		FileBytesMax: FileBytesMax, SubkeysMax: SubkeysMax, TrialUnits: int64(TrialGrant), TrialSeconds: int64(s.config.TrialTTL.Seconds()),
		RequestBodyBytes: BodyBytesMax, RequestHeaderSize: HeaderBytesMax, Limits: s.config.Limits,
		RefundFeesUSD: RefundFees{s.config.RefundFees["base"].USD(), s.config.RefundFees["solana"].USD()},
	}
	for _, name := range slices.Sorted(maps.Keys(billing.Prices)) {
		price := billing.Prices[name]
		out.Operations = append(out.Operations, PriceOut{name, int64(price.Base), int64(price.PerKiB)})
	}
	return out
}

// BalanceOut is the output of get_remaining_balance. Money is in units.
type BalanceOut struct {
	Remaining          int64      `json:"remaining"`
	KeyBudgetRemaining *int64     `json:"key_budget_remaining"`
	KeyWindowRemaining *int64     `json:"key_window_remaining"`
	WorkspaceBalance   int64      `json:"workspace_balance"`
	WorkspaceID        string     `json:"workspace_id"`
	Key                BalanceKey `json:"key"`
}

// BalanceKey tells which key is used. SubkeyID is null for the owner key.
type BalanceKey struct {
	Kind            string  `json:"kind"`
	SubkeyID        *string `json:"subkey_id"`
	Label           *string `json:"label"`
	PathScopePrefix *string `json:"path_scope_prefix"`
	BudgetCap       *int64  `json:"budget_cap"`
	SpentSoFar      int64   `json:"spent_so_far"`

	SpendLimitPerHour *int64 `json:"spend_limit_per_hour"`
	SpendLimitPerDay  *int64 `json:"spend_limit_per_day"`
}

func remainingBalance(ctx context.Context, c *Caller, _ struct{}) (BalanceOut, error) {
	i, err := c.inquire(ctx, nil)
	if err != nil {
		return BalanceOut{}, err
	}
	out := BalanceOut{
		Remaining: *c.remaining, KeyWindowRemaining: i.windowLeft, WorkspaceBalance: int64(i.balance), WorkspaceID: c.Workspace().String(),
		Key: BalanceKey{Kind: "owner", SubkeyID: idOrNil(i.subkeyID), PathScopePrefix: i.scope, BudgetCap: i.budgetCap, SpentSoFar: i.keySpent, SpendLimitPerHour: i.limits.PerHour, SpendLimitPerDay: i.limits.PerDay},
	}
	if i.subkeyID != nil {
		out.Key.Kind, out.Key.Label = "subkey", &i.keyLabel
	}
	if i.budgetCap != nil {
		out.KeyBudgetRemaining = new(max(*i.budgetCap-i.keySpent, 0))
	}
	return out, nil
}

// ForecastOut is the output of get_forecast. Balance is in units.
type ForecastOut struct {
	Balance     int64            `json:"balance"`
	Windows     []ForecastWindow `json:"windows"`
	TopSpenders []SpenderOut     `json:"top_spenders"`
}

// ForecastWindow is the spend seen over one window. SpendPerHour and RunwayHours are decimal strings,
// rounded down; RunwayHours is null without spend.
type ForecastWindow struct {
	Window       string  `json:"window"`
	Since        Time    `json:"since"`
	Seconds      int64   `json:"seconds"`
	Spent        int64   `json:"spent"`
	SpendPerHour string  `json:"spend_per_hour"`
	RunwayHours  *string `json:"runway_hours"`
}

// SpenderOut is what one key spent in the last 24 hours; a null subkey_id is the owner or the service.
type SpenderOut struct {
	SubkeyID *string `json:"subkey_id"`
	Spent    int64   `json:"spent"`
}

var forecastWindows = []struct {
	name string
	span time.Duration
}{{"1h", time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

func getForecast(ctx context.Context, c *Caller, _ struct{}) (ForecastOut, error) {
	i, err := c.inquire(ctx, nil)
	if err != nil {
		return ForecastOut{}, err
	}
	out := ForecastOut{Balance: int64(i.balance), TopSpenders: []SpenderOut{}}
	for _, w := range forecastWindows {
		since := i.now.Add(-w.span)
		if i.createdAt.After(since) {
			since = i.createdAt
		}
		spent, err := c.svc.store.SpentSince(ctx, c.Workspace(), since)
		if err != nil {
			return ForecastOut{}, storeError(err)
		}
		out.Windows = append(out.Windows, window(w.name, since, i.now, spent, int64(i.balance)))
	}
	top, err := c.svc.store.TopSpenders(ctx, c.Workspace(), i.now.Add(-24*time.Hour), 10)
	if err != nil {
		return ForecastOut{}, storeError(err)
	}
	for _, t := range top {
		out.TopSpenders = append(out.TopSpenders, SpenderOut{idOrNil(t.Subkey), t.Cost})
	}
	return out, nil
}

func window(name string, since, now time.Time, spent, balance int64) ForecastWindow {
	seconds := max(int64(now.Sub(since)/time.Second), 1)
	w := ForecastWindow{Window: name, Since: Time{since}, Seconds: seconds, Spent: spent, SpendPerHour: ratio(spent, 3600, seconds)}
	if spent > 0 {
		w.RunwayHours = new(ratio(balance, seconds, spent*3600))
	}
	return w
}
