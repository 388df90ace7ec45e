package rest

import (
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"aanet/api"
	"aanet/api/negotiate"
	"aanet/api/web"
	"aanet/api/web/chart"
	"aanet/billing"

	"github.com/labstack/echo/v4"
)

//go:embed window.js
var windowScript []byte

// script is that of the owner's window, the one page with one.
var script = web.NewAsset("/assets/window.js", windowScript)

var assets = []web.Asset{web.Style, web.Mark, script}

// asset sends a file that pages load.
func (d *door) asset(c echo.Context) error {
	path := c.Request().URL.Path
	for _, a := range assets {
		if a.Is(path) {
			h := c.Response().Header()
			h.Set("Cache-Control", a.Kept(path))
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
			return send(c, http.StatusOK, a.Media, a.Body)
		}
	}
	return api.Refuse(api.NotFound)
}

// show sends a page that is rendered for this request.
func (d *door) show(c echo.Context, status int, policy web.Policy, name string, data any) error {
	h := c.Response().Header()
	web.Protect(h, policy)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache")
	}
	return send(c, status, typeHTML, htmlPage(name, data))
}

// priced is what the page of prices shows.
type priced struct {
	Page web.Page
	api.PricingOut
}

// landed is what the first page shows.
type landed struct {
	about
	Pricing    api.PricingOut
	Priced     []api.PriceOut // operations that cost something
	Calculator calculator
}

// calculator is the form of the savings calculator, with what it came to or what is wrong.
type calculator struct {
	Agents, Rounds calculatorField
	Result         *billing.Estimate
	Chart          template.HTML
	RoundUnits     int64
	Fault          string // about the whole
}

type calculatorField struct{ Value, Fault string }

// landing is the first page. Its calculator is estimate_savings, by a form that needs no script.
func (d *door) landing(c echo.Context) error {
	r := c.Request()
	prices := api.OperationNamed("get_pricing")
	answer := d.svc.Call(r.Context(), prices, api.Request{Address: d.address(r), ID: requestID(c)})
	if answer.Refusal != nil {
		return d.answer(c, prices, answer)
	}
	data := landed{about: newAbout(d.Options).at("", "/"), Pricing: answer.Out.(api.PricingOut)}
	for _, p := range data.Pricing.Operations {
		if p.Units > 0 || p.PerKiB > 0 {
			data.Priced = append(data.Priced, p)
		}
	}
	status := http.StatusOK
	data.Calculator, status = d.calculate(c)
	return d.show(c, status, web.Still, "landing.html", data)
}

// calculate answers the calculator's form; without one it shows an example.
func (d *door) calculate(c echo.Context) (calculator, int) {
	form := calculator{Agents: calculatorField{Value: "10"}, Rounds: calculatorField{Value: "20"}, RoundUnits: int64(billing.RoundPrice())}
	query := c.QueryParams()
	if query.Has("agents") || query.Has("rounds_per_agent") {
		form.Agents.Value, form.Rounds.Value = strings.TrimSpace(query.Get("agents")), strings.TrimSpace(query.Get("rounds_per_agent"))
	}
	answer := d.svc.Call(c.Request().Context(), api.OperationNamed("estimate_savings"), api.Request{
		Address: d.address(c.Request()), ID: requestID(c),
		Input: map[string]any{"agents": api.Text(form.Agents.Value), "rounds_per_agent": api.Text(form.Rounds.Value)},
	})
	if answer.Refusal != nil {
		form.refused(answer.Refusal)
		return form, answer.Refusal.Status()
	}
	result := answer.Out.(billing.Estimate)
	form.Result, form.Chart = &result, savings(result)
	return form, http.StatusOK
}

func (f *calculator) refused(refusal *api.Refusal) {
	for _, fault := range refusal.Errors {
		switch fault.Field {
		case "agents":
			f.Agents.Fault = "Agents " + fault.Message + "."
		case "rounds_per_agent":
			f.Rounds.Fault = "Rounds of each agent " + fault.Message + "."
		}
	}
	if f.Agents.Fault == "" && f.Rounds.Fault == "" {
		f.Fault = refusal.Detail
	}
}

// savings draws both sides in dollars, to one scale.
func savings(e billing.Estimate) template.HTML {
	rank := func(name, usd, note string, colour int) chart.Rank {
		value, _ := strconv.ParseFloat(usd, 64) // only for the length of a bar
		return chart.Rank{Name: name, Value: value, Text: "$" + chart.Grouped(usd), Note: note, Colour: colour}
	}
	tokens := chart.Grouped(strconv.FormatInt(e.RelayTokens, 10)) + " tokens"
	return chart.Ranks("What the coordination costs",
		rank("Through AANet", e.AANetUSD, chart.Grouped(strconv.FormatInt(int64(e.AANetUnits), 10))+" units", 0),
		rank("Relayed through a model at $2 a million tokens", e.RelayUSDLow, tokens, 1),
		rank("Relayed through a model at $10 a million tokens", e.RelayUSDHigh, tokens, 1))
}

// stated is what the page of the service's state shows.
type stated struct {
	Page web.Page
	api.Status
}

// status shows the state of the service: to browsers as a page, else as JSON. It answers 200 also when the state is
// bad; /readyz is for load balancers.
func (d *door) status(c echo.Context) error {
	state := d.svc.Status(c.Request().Context())
	c.Response().Header().Add("Vary", "Accept")
	c.Response().Header().Set("Cache-Control", "public, max-age=3")
	if !negotiate.Prefers(c.Request().Header.Get("Accept"), "text/html", typeJSON) {
		return sendJSON(c, http.StatusOK, typeJSON, state)
	}
	return d.show(c, http.StatusOK, web.Still, "status.html", stated{Page: frameOf("Status", "/status"), Status: state})
}

// window is the owner's window. What it shows it gets from /v1, with a key that only its script ever has.
func (d *door) window(c echo.Context) error {
	frame := frameOf("Your workspace", "/w")
	frame.Script = script.Path
	c.Response().Header().Set("Cache-Control", "no-store") // nor may the browser keep the page when it is left
	return d.show(c, http.StatusOK, web.Live, "window.html", struct {
		Page web.Page
		URL  string
	}{frame, strings.TrimSuffix(d.PublicURL, "/")})
}

// wantsPage tells whether a browser opens an address for its reader to see: programs that take HTML do not ask for
// XHTML, and clients of MCP look for addresses that must not exist.
func wantsPage(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	program := underV1(r) || r.URL.Path == mcpPath || strings.HasPrefix(r.URL.Path, "/.well-known/")
	return !program && strings.Contains(accept, "application/xhtml+xml") && negotiate.Prefers(accept, "text/html", typeProblem)
}

// notFound is the refusal of an address outside of the API for people.
func (d *door) notFound(c echo.Context) error {
	return d.show(c, http.StatusNotFound, web.Still, "notfound.html", struct{ Page web.Page }{frameOf("Not found", "")})
}
