package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"aanet/api"
	"aanet/api/negotiate"

	"github.com/labstack/echo/v4"
)

const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
	typeText    = "text/plain; charset=utf-8"
	typeHTML    = "text/html; charset=utf-8"
)

// answer shows what a call came to.
func (d *door) answer(c echo.Context, op *api.Op, a api.Answer) error {
	h, r := c.Response().Header(), c.Request()
	h.Set("X-AANet-Cost", strconv.FormatInt(a.Cost, 10))
	if a.Authenticated {
		h.Set("X-AANet-Remaining-Balance", strconv.FormatInt(*a.Remaining, 10))
	}
	if a.Refusal != nil {
		return a.Refusal
	}
	for name, value := range a.Headers {
		h.Set(name, value)
	}
	reads := op.Method == http.MethodGet
	etag := entityTag(a.Out)
	if etag != "" {
		h.Set("ETag", quoted(etag))
		if reads && noneMatch(r.Header.Values("If-None-Match"), etag) {
			h.Add("Vary", "Accept, Accept-Encoding")
			return c.NoContent(http.StatusNotModified)
		}
	}
	if file, ok := a.Out.(api.ReadFileOut); ok {
		h.Add("Vary", "Accept")
		if file.Content != nil && negotiate.Prefers(r.Header.Get("Accept"), "text/plain", typeJSON) {
			if file.NextOffset != nil {
				h.Set("X-AANet-Next-Offset", strconv.FormatInt(*file.NextOffset, 10))
			}
			return send(c, a.Status, typeText, []byte(*file.Content))
		}
	}
	return sendJSON(c, a.Status, typeJSON, a.Out)
}

// fail is where every error of a handler ends: as a problem object, or as INTERNAL when it is none.
func (d *door) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	var refusal *api.Refusal
	var routing *echo.HTTPError
	switch {
	case errors.As(err, &refusal):
	case errors.As(err, &routing) && routing.Code == http.StatusNotFound:
		refusal = api.Refuse(api.NotFound)
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		refusal = d.strangeMethod(c)
	default:
		d.Log.ErrorContext(c.Request().Context(), "handler failed", "request_id", requestID(c), "error", err.Error())
		refusal = api.Refuse(api.Internal)
	}
	c.Set(codeKey, refusal.Code)
	if refusal.Code == api.NotFound && wantsPage(c.Request()) {
		if err := d.notFound(c); err == nil {
			return
		}
	}
	h := c.Response().Header()
	if refusal.Code == api.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if seconds := refusal.RetryAfter(); seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	if err := sendJSON(c, refusal.Status(), typeProblem, refusal); err != nil {
		d.Log.DebugContext(c.Request().Context(), "answer not sent", "request_id", requestID(c), "error", err.Error())
	}
}

// strangeMethod is the refusal of a method that no handler is registered for, such as one that no standard knows.
func (d *door) strangeMethod(c echo.Context) *api.Refusal {
	if !underV1(c.Request()) {
		return api.Refuse(api.MethodNotAllowed) // the router has set Allow
	}
	found, ok := d.routes.find(c.Request().URL.EscapedPath())
	if !ok {
		c.Response().Header().Del("Allow")
		return api.Refuse(api.NotFound)
	}
	c.Response().Header().Set("Allow", found.allow)
	return api.Refuse(api.MethodNotAllowed)
}

func sendJSON(c echo.Context, status int, media string, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return err
	}
	return send(c, status, media, text)
}

// encodeJSON gives one line of JSON, with its end, that leaves < > & as they are.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b.Bytes(), nil
}

// send writes a whole answer, compressed where that pays. The ETag stays as it is: it names the file's
// version, and a client must be able to send it back. To HEAD it sends all but the body.
func send(c echo.Context, status int, media string, body []byte) error {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) >= negotiate.GzipLeast && negotiate.AcceptsGzip(c.Request().Header.Get("Accept-Encoding")) {
		compressed, err := compress(body)
		if err != nil {
			return fmt.Errorf("compress the answer: %w", err)
		}
		h.Set("Content-Encoding", "gzip")
		body = compressed
	}
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.Response().WriteHeader(status)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	if _, err := c.Response().Write(body); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func compress(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w := negotiate.NewGzip(&b)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
