package rest

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"net/http"
	"strings"
	texttemplate "text/template"
	"time"

	"aanet/api"
	"aanet/api/negotiate"
	"aanet/api/web"

	"github.com/labstack/echo/v4"
)

//go:embed pages
var pageFiles embed.FS

// pages are the answers that do not change while the service runs.
type pages map[string]page

type page struct {
	media string
	body  []byte
}

// about is what the templates show.
type about struct {
	Page       web.Page
	URL        string // of the service, without a slash at its end
	Version    string
	Operations []described
	Codes      []describedCode
	Limits     limitsShown
}

// limitsShown are the fixed limits; those that can be configured are at /pricing.
type limitsShown struct {
	FileBytes, BodyBytes, HeaderBytes, Subkeys int
}

// newPages renders the pages. It panics on a template that does not fit: every start and every test finds that.
func newPages(o Options) pages {
	data := newAbout(o)
	openAPI, err := OpenAPI()
	if err != nil {
		panic(err)
	}
	return pages{
		"/docs":         {typeHTML, htmlPage("docs.html", data.at("Reference", "/docs"))},
		"/openapi.json": {typeJSON, openAPI},
		"/AGENTS.md":    {"text/markdown; charset=utf-8", textPage("agents.md", data)},
		"/llms.txt":     {typeText, textPage("llms.txt", data)},
	}
}

func newAbout(o Options) about {
	return about{
		URL: strings.TrimSuffix(o.PublicURL, "/"), Version: o.Version, Operations: describeAll(), Codes: describeCodes(),
		Limits: limitsShown{api.FileBytesMax, api.BodyBytesMax, api.HeaderBytesMax, api.SubkeysMax},
	}
}

// at gives what the frame shows around one of the pages.
func (a about) at(title, path string) about {
	a.Page = frameOf(title, path)
	return a
}

func frameOf(title, path string) web.Page {
	return web.Page{Title: title, Here: path, Nav: []web.Link{
		{Path: "/docs", Text: "Reference"}, {Path: "/pricing", Text: "Pricing"}, {Path: "/status", Text: "Status"}, {Path: "/w", Text: "Your workspace"},
	}}
}

var htmlTemplates = web.Parse(pageFiles, "pages/*.html")

func htmlPage(name string, data any) []byte {
	var b bytes.Buffer
	if err := htmlTemplates.ExecuteTemplate(&b, name, data); err != nil {
		panic(fmt.Sprintf("page %s: %v", name, err))
	}
	return b.Bytes()
}

func textPage(name string, data any) []byte {
	var b bytes.Buffer
	if err := texttemplate.Must(texttemplate.ParseFS(pageFiles, "pages/"+name)).Execute(&b, data); err != nil {
		panic(fmt.Sprintf("page %s: %v", name, err))
	}
	return b.Bytes()
}

var readMethods = []string{http.MethodGet, http.MethodHead}

// addPages registers everything outside /v1 and /mcp.
func (d *door) addPages(e *echo.Echo) {
	for path := range d.pages {
		e.Match(readMethods, path, d.page)
	}
	e.Match(readMethods, "/", d.landing)
	e.Match(readMethods, "/pricing", d.pricing)
	e.Match(readMethods, "/status", d.status)
	e.Match(readMethods, "/w", d.window)
	e.Match(readMethods, "/assets/:file", d.asset)
	e.Match(readMethods, healthPath, func(c echo.Context) error {
		return sendJSON(c, http.StatusOK, typeJSON, map[string]string{"status": "ok"})
	})
	e.Match(readMethods, readyPath, d.ready)
	e.POST("/register", noOAuth)
}

func (d *door) page(c echo.Context) error {
	p := d.pages[c.Path()]
	c.Response().Header().Set("Cache-Control", "public, max-age=300")
	web.Protect(c.Response().Header(), web.Still)
	return send(c, http.StatusOK, p.media, p.body)
}

// pricing shows the answer of get_pricing, to browsers as a page.
func (d *door) pricing(c echo.Context) error {
	r, op := c.Request(), api.OperationNamed("get_pricing")
	c.Set(operationKey, op)
	c.Response().Header().Add("Vary", "Accept")
	answer := d.svc.Call(r.Context(), op, api.Request{Address: d.address(r), ID: requestID(c)})
	if answer.Refusal != nil || !negotiate.Prefers(r.Header.Get("Accept"), "text/html", typeJSON) {
		return d.answer(c, op, answer)
	}
	return d.show(c, http.StatusOK, web.Still, "pricing.html", priced{frameOf("Pricing", "/pricing"), answer.Out.(api.PricingOut)})
}

// Health checks are for whoever runs the service: they are served to any host name.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
	readyTime  = time.Second
)

func isHealth(r *http.Request) bool { return r.URL.Path == healthPath || r.URL.Path == readyPath }

// ready tells whether calls would be served now; why not stays in the log.
func (d *door) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTime)
	defer cancel()
	if err := d.Ready(ctx); err != nil {
		d.Log.WarnContext(ctx, "not ready", "error", err.Error())
		return api.Refuse(api.Unavailable)
	}
	return sendJSON(c, http.StatusOK, typeJSON, map[string]string{"status": "ready"})
}

// noOAuth answers MCP clients that try to register after a 401 in the words that they show to people. The
// discovery addresses they try first must not exist, or they would go on with OAuth.
func noOAuth(c echo.Context) error {
	return sendJSON(c, http.StatusBadRequest, typeJSON, map[string]string{
		"error":             "invalid_client_metadata",
		"error_description": "This server has no OAuth. Send your key as Authorization: Bearer <key>.",
	})
}
