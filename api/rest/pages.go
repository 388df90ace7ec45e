package rest

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	texttemplate "text/template"
	"time"

	"aanet/api"
	"aanet/api/negotiate"

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
	data := about{
		URL: strings.TrimSuffix(o.PublicURL, "/"), Version: o.Version, Operations: describeAll(), Codes: describeCodes(),
		Limits: limitsShown{api.FileBytesMax, api.BodyBytesMax, api.HeaderBytesMax, api.SubkeysMax},
	}
	openAPI, err := OpenAPI()
	if err != nil {
		panic(err)
	}
	css, err := pageFiles.ReadFile("pages/style.css")
	if err != nil {
		panic(err)
	}
	return pages{
		"/":               {typeHTML, htmlPage("landing.html", data)},
		"/docs":           {typeHTML, htmlPage("docs.html", data)},
		"/docs/style.css": {"text/css; charset=utf-8", css},
		"/openapi.json":   {typeJSON, openAPI},
		"/AGENTS.md":      {"text/markdown; charset=utf-8", textPage("agents.md", data)},
		"/llms.txt":       {typeText, textPage("llms.txt", data)},
	}
}

func htmlPage(name string, data any) []byte {
	var b bytes.Buffer
	if err := template.Must(template.ParseFS(pageFiles, "pages/"+name)).Execute(&b, data); err != nil {
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
	e.Match(readMethods, "/pricing", d.pricing)
	e.Match(readMethods, healthPath, func(c echo.Context) error {
		return sendJSON(c, http.StatusOK, typeJSON, map[string]string{"status": "ok"})
	})
	e.Match(readMethods, readyPath, d.ready)
	e.POST("/register", noOAuth)
}

func (d *door) page(c echo.Context) error {
	p := d.pages[c.Path()]
	h := c.Response().Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "public, max-age=300")
	return send(c, http.StatusOK, p.media, p.body)
}

// pagePolicy lets our pages load their one style sheet and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pricing shows the answer of get_pricing, to browsers as a page.
func (d *door) pricing(c echo.Context) error {
	r, op := c.Request(), operationNamed("get_pricing")
	c.Set(operationKey, op)
	c.Response().Header().Add("Vary", "Accept")
	answer := d.svc.Call(r.Context(), op, api.Request{Address: d.address(r), ID: requestID(c)})
	if answer.Refusal != nil || !negotiate.Prefers(r.Header.Get("Accept"), "text/html", typeJSON) {
		return d.answer(c, op, answer)
	}
	c.Response().Header().Set("Content-Security-Policy", pagePolicy)
	return send(c, http.StatusOK, typeHTML, htmlPage("pricing.html", answer.Out))
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
