package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"aanet/api"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// Where the context keeps the operation of a request, once it is known, the code of its refusal, and since when it is served.
const (
	operationKey = "operation"
	codeKey      = "code"
	timerKey     = "timer"
)

func requestID(c echo.Context) string { return c.Response().Header().Get("X-Request-Id") }

func underV1(r *http.Request) bool {
	return r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/")
}

// observe is around everything: it names the request, catches panics, shows errors, counts and logs. The
// MCP door does all but the first two for itself.
func (d *door) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("X-Request-Id", uuid.NewString())
		defer watchBody(c, d.bodies, unreadTime)()
		if c.Path() == mcpPath {
			d.run(c, next)
			return nil
		}
		timer := prometheus.NewTimer(nil)
		c.Set(timerKey, timer)
		d.run(c, next)
		if c.Get(parkedKey) == nil {
			d.record(c, timer.ObserveDuration().Seconds())
		}
		return nil
	}
}

// statusGone is what a call is counted as when its client did not wait for the answer.
const statusGone = 499

// record counts and logs one answer, by the operation's name and address; never by what a tenant named.
func (d *door) record(c echo.Context, seconds float64) {
	operation, route := "unmatched", "unmatched"
	if op, ok := c.Get(operationKey).(*api.Op); ok {
		operation, route = op.Name, op.Path
	} else if underAdmin(c) {
		operation, route = "dashboard", adminPath
	}
	code, _ := c.Get(codeKey).(api.Code)
	status, level := c.Response().Status, slog.LevelDebug
	switch {
	case gone(c.Request()):
		status, code = statusGone, api.ClientGone
	case status == http.StatusInternalServerError: // what is put off, with 502 and 503, is no bug and comes in thousands
		level = slog.LevelWarn
	}
	d.Metrics.Observe("rest", operation, status, code, seconds)
	d.Log.Log(context.WithoutCancel(c.Request().Context()), level, "request", "request_id", requestID(c), "method", c.Request().Method,
		"operation", operation, "route", route, "status", status, "seconds", seconds)
}

// run calls the handler and sends its error or panic. A panic is a bug of ours and shows nothing of itself.
func (d *door) run(c echo.Context, next echo.HandlerFunc) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if cause == http.ErrAbortHandler || c.Response().Committed {
			panic(http.ErrAbortHandler) // only a cut connection can tell the client
		}
		d.Log.ErrorContext(c.Request().Context(), "panic", "request_id", requestID(c), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		c.Error(api.Refuse(api.Internal))
	}()
	if err := next(c); err != nil {
		c.Error(err)
	}
}

// protect sets the headers that keep browsers and caches from doing harm, and refuses strange hosts.
func (d *door) protect(next echo.HandlerFunc) echo.HandlerFunc {
	secure := strings.HasPrefix(d.PublicURL, "https://")
	return func(c echo.Context) error {
		r, h := c.Request(), c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		if secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if c.Path() == mcpPath {
			return next(c)
		}
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if underV1(r) {
			h.Set("Cache-Control", "no-store")
			h.Set("X-AANet-Cost", "0")
		}
		if !isHealth(r) && !api.HostAllowed(d.AllowedHosts, r.Host) {
			return misdirected(c)
		}
		if !underAdmin(c) && d.crossOrigin(c) {
			return c.NoContent(http.StatusNoContent)
		}
		return next(c)
	}
}

const (
	misdirectedCode = "MISDIRECTED"
	misdirectedText = "This service does not answer to this host name."
)

// misdirected answers a Host header that this service does not go by. It is no refusal of the API: a
// client that is configured right never sees it.
func misdirected(c echo.Context) error {
	return sendJSON(c, http.StatusMisdirectedRequest, typeProblem, map[string]any{
		"type": "about:blank", "title": http.StatusText(http.StatusMisdirectedRequest), "status": http.StatusMisdirectedRequest,
		"code": misdirectedCode, "detail": misdirectedText,
	})
}

// What pages of an allowed origin may send and see.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsRequest = "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, PAYMENT-SIGNATURE"
	corsAnswer  = "ETag, Retry-After, X-Request-Id, X-AANet-Cost, X-AANet-Remaining-Balance, X-AANet-Next-Offset, " +
		"Idempotent-Replayed, PAYMENT-REQUIRED, PAYMENT-RESPONSE"
)

// crossOrigin adds what a browser asks for when a page of an allowed origin calls; without such origins
// there are no CORS headers at all. It is true for a preflight, which is then answered.
func (d *door) crossOrigin(c echo.Context) bool {
	if len(d.AllowedOrigins) == 0 {
		return false
	}
	r, h := c.Request(), c.Response().Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(d.AllowedOrigins, origin) || origin == "" || origin == "null" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsAnswer)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsRequest)
	h.Set("Access-Control-Max-Age", "600")
	return true
}
