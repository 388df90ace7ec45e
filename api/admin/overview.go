package admin

import (
	"html/template"
	"time"

	"aanet/api"
	"aanet/api/web"
	"aanet/api/web/chart"
	"aanet/billing/x402"
	"aanet/store"
)

func (d *door) overviewRoutes() []route {
	return []route{{"GET " + Root, store.RoleViewer, d.overview}}
}

// overviewPage is the first page: the numbers, and what is made of them.
type overviewPage struct {
	store.Overview
	Calls, Units template.HTML // charts of the last hour
	Codes        []codeRow
	Money        store.CodeSum // of all logs
	Deliveries   store.CodeSum
	Rates        []rate
}

// codeRow is how often a code was answered.
type codeRow struct {
	store.CodeSum
	Ours bool // a fault of the service, not of its callers
}

// rate is a share of all answers in a window.
type rate struct {
	Window          string
	Answers, Failed int64 // Failed: by a fault of ours
	Refused         int64 // for any other reason
	P99             *time.Duration
}

// FailedShare is Failed of Answers in percent.
func (r rate) FailedShare() string { return percent(r.Failed, r.Answers) }

// RefusedShare is Refused of Answers in percent.
func (r rate) RefusedShare() string { return percent(r.Refused, r.Answers) }

func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	if share := 100 * float64(part) / float64(whole); part == 0 || share >= 0.01 {
		return web.Number(float64(int64(share*100+0.5))/100) + " %"
	}
	return "under 0.01 %"
}

// ours are the codes that say that the service failed.
var ours = map[string]bool{string(api.Internal): true, string(api.Unavailable): true}

func (d *door) overview(v *visit) error {
	o, err := d.overviews.get(v.ctx())
	if err != nil {
		return err
	}
	page := overviewPage{Overview: o, Money: o.Log.Total(), Deliveries: o.Log.Of("DELIVERY"), Rates: ratesOf(o)}
	for _, c := range o.Answers.Codes {
		page.Codes = append(page.Codes, codeRow{c, ours[c.Code]})
	}
	page.Calls, page.Units = chartsOf(o.Minutes)
	v.waits = &o.Waits
	return v.show("overview.html", "Overview", Root, page)
}

func ratesOf(o store.Overview) []rate {
	rates := []rate{{Window: "60 minutes", P99: o.SlowestHour}, {Window: "24 hours", P99: o.SlowestDay}, {Window: "30 days", P99: o.SlowestMonth}}
	for _, c := range o.Answers.Codes {
		for i, n := range []int64{c.Hour, c.Day, c.Month} {
			rates[i].Answers += n
			switch {
			case ours[c.Code]:
				rates[i].Failed += n
			case c.Code != "OK":
				rates[i].Refused += n
			}
		}
	}
	return rates
}

// chartsOf draws the minutes that are over.
func chartsOf(minutes []store.MinuteSum) (calls, units template.HTML) {
	minutes = minutes[:max(len(minutes)-1, 0)]
	labels := make([]string, len(minutes))
	answers, refused, spent := make([]int64, len(minutes)), make([]int64, len(minutes)), make([]int64, len(minutes))
	for i, m := range minutes {
		labels[i] = m.At.UTC().Format("15:04")
		answers[i], refused[i], spent[i] = m.Answers, m.Refused, m.Units
	}
	calls = chart.Figure{
		Title: "Calls a minute", Heads: "Minute (UTC)", Labels: labels,
		Series: []chart.Series{{Name: "answered", Values: chart.Ints(answers...)}, {Name: "of them refused", Values: chart.Ints(refused...)}},
	}.Lines()
	units = chart.Figure{Title: "Units charged a minute", Heads: "Minute (UTC)", Labels: labels, Series: []chart.Series{{Name: "units", Values: chart.Ints(spent...)}}}.Lines()
	return calls, units
}

// PerMinute is the mean of the last five minutes that are over.
func (p overviewPage) PerMinute() (mean struct{ Calls, Units int64 }) {
	last := p.Minutes[max(len(p.Minutes)-6, 0):max(len(p.Minutes)-1, 0)]
	for _, m := range last {
		mean.Calls += m.Answers
		mean.Units += m.Units
	}
	if n := int64(len(last)); n > 0 {
		mean.Calls, mean.Units = (mean.Calls+n/2)/n, (mean.Units+n/2)/n
	}
	return mean
}

// Network is the name of a network as people know it.
func (overviewPage) Network(id string) string { return networkName(id) }

// networkName names a network that is given as CAIP-2, or as refunds do.
func networkName(id string) string {
	if n, known := x402.NetworkOf(id); known {
		return n.Name
	}
	if n, known := x402.ByShort(id); known {
		return n.Name
	}
	return id
}

// Quick writes a short duration; a nil pointer is a dash.
func (overviewPage) Quick(d any) string {
	span, _ := d.(time.Duration)
	if p, isPointer := d.(*time.Duration); isPointer {
		if p == nil {
			return "–"
		}
		span = *p
	}
	if span < time.Second {
		return web.Number(float64(span.Microseconds())/1000) + " ms"
	}
	return web.Number(span.Seconds()) + " s"
}
