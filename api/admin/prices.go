package admin

import (
	"aanet/api"
	"aanet/billing"
	"aanet/store"
)

const pricesPath = Root + "/prices"

func (d *door) pricesRoutes() []route {
	return []route{{"GET " + pricesPath, store.RoleViewer, d.prices}}
}

type pricesPage struct {
	api.PricingOut
	Operations []priceRow
	Set        []limit
	Fixed      []limit
}

type priceRow struct {
	api.PriceOut
	USD, PerKiBUSD string
}

// limit is one limit in words; Value 0 of a rate means that it is off.
type limit struct {
	What  string
	Value float64
	Unit  string
	Env   string // where it is set
}

// prices shows the table that calls are charged from and the limits that are in force in this process.
func (d *door) prices(v *visit) error {
	p := d.Pricing()
	page := pricesPage{PricingOut: p}
	for _, o := range p.Operations {
		page.Operations = append(page.Operations, priceRow{o, billing.Units(o.Units).USD(), billing.Units(o.PerKiB).USD()})
	}
	l := p.Limits
	page.Set = []limit{
		{"Trials made from one address", l.TrialPerHour, "an hour", "trial_per_hour"},
		{"Workspaces made from one address", l.CreatePerHour, "an hour", "create_per_hour"},
		{"Calls of one key", l.KeyRate, "a second", "key_rate"},
		{"Calls of one key at once", float64(l.KeyBurst), "", "key_burst"},
		{"Request bytes of one key", l.KeyBytesRate, "bytes a second", "key_bytes_rate"},
		{"Request bytes of one key at once", float64(l.KeyBytesBurst), "bytes", "key_bytes_burst"},
		{"Wrong keys from one address", l.FailedKeysPerMinute, "a minute", "failed_keys_per_minute"},
		{"Refusals of one workspace that are logged", l.RefusalRowsRate, "a second", "refusal_rows_rate"},
		{"Refusals of one workspace that are logged at once", l.RefusalRowsBurst, "", "refusal_rows_burst"},
	}
	page.Fixed = []limit{
		{"A file", float64(p.FileBytesMax), "bytes", ""}, {"A request's body", float64(p.RequestBodyBytes), "bytes", ""},
		{"A request's headers", float64(p.RequestHeaderSize), "bytes", ""}, {"Sub-keys of a workspace", float64(p.SubkeysMax), "", ""},
		{"Units of a trial", float64(p.TrialUnits), "units", ""}, {"Life of a trial", float64(p.TrialSeconds), "seconds", ""},
	}
	return v.show("prices.html", "Prices and limits", pricesPath, page)
}
