// Package admin is the dashboard for the people who run the service, under /admin: server-made pages that work without a
// script. Each page has a row in a table of routes (routes.go), which says the least role that may see it; who somebody is
// and what he may do is decided in package operators, what an action does in store and billing.
package admin

import (
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"aanet/api"
	"aanet/api/operators"
	"aanet/api/web"
	"aanet/billing/deposits"
	"aanet/billing/refunds"
	"aanet/store"
)

//go:embed templates
var templateFiles embed.FS

//go:embed assets/live.js
var liveText []byte

// live is the script of all pages: it refreshes parts of them (templates mark them with data-live).
var live = web.NewAsset(Root+"/assets/live.js", liveText)

// Root is where the dashboard is.
const Root = "/admin"

// sharedLife is how old the numbers may be that all viewers see alike. An act done in this process ends them at once.
const sharedLife = 5 * time.Second

// formBytesMax bounds a form that is sent.
const formBytesMax = 64 << 10

// Options are what the dashboard needs.
type Options struct {
	Store     *store.Store
	Operators *operators.Service
	// Refunds and Deposits are where money is decided.
	Refunds  refunds.Desk
	Deposits deposits.Desk
	Pricing  func() api.PricingOut // prices and limits in force
	// Jobs are River's own pages, made for JobsPath; nil: there are none.
	Jobs http.Handler
	// PublicURL is where browsers reach the service; with https the cookies are for https only.
	PublicURL string
	// ClientAddr finds the address of a request's client behind trusted proxies.
	ClientAddr func(*http.Request) netip.Addr
	Now        func() time.Time
	Log        *slog.Logger
}

// door is the dashboard with what it was made from.
type door struct {
	Options
	pages   *template.Template
	cross   *http.CrossOriginProtection
	cookies cookies
	mux     *http.ServeMux
	// What every viewer sees alike, and asks for every few seconds (live.js) or with every page.
	overviews *shared[store.Overview]
	waits     *shared[store.Waits]
}

// New makes the dashboard. Its answers set all their headers themselves.
func New(o Options) http.Handler {
	d := &door{
		Options: o, cross: http.NewCrossOriginProtection(), cookies: cookiesFor(o.PublicURL),
		pages: web.Parse(templateFiles, "templates/*.html"), mux: http.NewServeMux(),
		overviews: newShared(o.Store.Overview, sharedLife, o.Now), waits: newShared(o.Store.Waits, sharedLife, o.Now),
	}
	for _, r := range d.routes() {
		d.mux.HandleFunc(r.pattern, d.guarded(r))
	}
	d.mux.HandleFunc("/", d.guarded(route{least: store.RoleViewer, serve: func(*visit) error { return errNotFound }}))
	return d
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, a := range []web.Asset{live, barStyle} {
		if a.Is(r.URL.Path) {
			a.ServeHTTP(w, r)
			return
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, formBytesMax)
	web.Protect(w.Header(), web.Forms)
	w.Header().Set("Cache-Control", "no-store")
	d.mux.ServeHTTP(w, r)
}
