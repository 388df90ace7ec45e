// Package rest is the REST door: one handler for every operation, problem objects for every refusal,
// and the pages that explain the service. What an operation does is decided in package api.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"

	"aanet/api"

	"github.com/labstack/echo/v4"
)

// Options are what the door needs beside the service.
type Options struct {
	PublicURL      string                      // where clients reach the service, shown in examples
	AllowedHosts   []string                    // names the service answers to; empty: any
	AllowedOrigins []string                    // web pages that may call it from a browser; empty: none
	TrustedProxies []netip.Prefix              // whose X-Forwarded-For counts
	MCP            http.Handler                // at /mcp, for all methods; it checks hosts and origins itself; nil: no such door
	Admin          http.Handler                // at /admin; it sets its own headers and checks origins itself; nil: there is no dashboard
	Parking        *Parking                    // where calls that wait leave their connections; nil: their handlers wait
	Ready          func(context.Context) error // why the service cannot take calls, or nil
	Log            *slog.Logger
	Metrics        *api.Metrics
	Version        string // of this build
}

// door is the REST door with what it was made from.
type door struct {
	Options
	svc     *api.Service
	routes  routes
	address func(*http.Request) netip.Addr
	pages   pages
	bodies  *room
	echo    *echo.Echo
}

// New makes the handler of everything: /v1, the pages, the health checks and /mcp.
func New(svc *api.Service, o Options) http.Handler {
	d := &door{Options: o, svc: svc, routes: newRoutes(api.Operations()), address: ClientAddr(o.TrustedProxies), bodies: newRoom(bodiesBytesMax)}
	d.pages = newPages(o)
	e := echo.New()
	d.echo = e
	e.HTTPErrorHandler = d.fail
	e.Use(d.observe, d.protect)
	e.Any("/v1/*", d.operation)
	if o.MCP != nil {
		e.Any(mcpPath, echo.WrapHandler(o.MCP))
	}
	if o.Admin != nil {
		e.Any(adminPath, echo.WrapHandler(o.Admin))
		e.Any(adminPath+"/*", echo.WrapHandler(o.Admin))
	}
	d.addPages(e)
	return e
}

const (
	mcpPath   = "/mcp"
	adminPath = "/admin"
)

func underAdmin(c echo.Context) bool { return c.Path() == adminPath || c.Path() == adminPath+"/*" }

// operation is the handler of every operation: it gathers a request, makes the call and shows the answer.
func (d *door) operation(c echo.Context) error {
	r := c.Request()
	found, ok := d.routes.find(r.URL.EscapedPath())
	if !ok {
		return api.Refuse(api.NotFound)
	}
	if r.Method == http.MethodOptions {
		c.Response().Header().Set("Allow", found.allow)
		return c.NoContent(http.StatusNoContent)
	}
	op, ok := found.operation(r.Method)
	if !ok {
		return d.methodNotAllowed(c, found)
	}
	c.Set(operationKey, op)
	body, refusal := readBody(c.Response(), r, bodyChunkTime)
	if refusal != nil {
		return refusal
	}
	request := gather(r, found, op, body)
	request.Credential = api.BearerKey(r.Header)
	request.Address = d.address(r)
	request.ID = requestID(c)
	if wantsStream(r, op) {
		return d.stream(c, op, request)
	}
	answer, waiting := d.svc.Begin(r.Context(), op, request)
	if waiting != nil {
		if d.park(c, op, waiting) {
			return nil
		}
		answer = waiting.Finish(r.Context())
	}
	return d.answered(c, op, answer)
}

// answered shows what a call came to, whose client may be gone.
func (d *door) answered(c echo.Context, op *api.Op, answer api.Answer) error {
	if gone(c.Request()) && answer.Status == http.StatusInternalServerError {
		answer.Refusal = api.Refuse(api.Unavailable) // the call ended with its caller, by no fault of ours
	}
	return d.answer(c, op, answer)
}

// gone tells whether the client has closed its connection.
func gone(r *http.Request) bool { return r.Context().Err() != nil }

func (d *door) methodNotAllowed(c echo.Context, found address) error {
	c.Response().Header().Set("Allow", found.allow)
	return api.Refuse(api.MethodNotAllowed)
}
