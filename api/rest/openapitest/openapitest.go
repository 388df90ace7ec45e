// Package openapitest holds the answers of the REST door to its OpenAPI document, whatever a test asks for: the status
// must be documented for the operation, every header of ours too, and the body must match its schema.
package openapitest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Checked is a transport that checks every answer to a request below /v1 and reports faults to the test. Streams of
// events pass with their head checked only. A nil base is http.DefaultTransport.
func Checked(t testing.TB, base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return checked{t, base}
}

// Client is http.DefaultClient with Checked.
func Client(t testing.TB) *http.Client { return &http.Client{Transport: Checked(t, nil)} }

// reported are the faults that a test has been told of.
var reported sync.Map

type checked struct {
	t    testing.TB
	base http.RoundTripper
}

// RoundTrip makes the request and gives its answer unaltered.
func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.base.RoundTrip(r)
	if err != nil || !strings.HasPrefix(r.URL.Path, "/v1/") || r.Method == http.MethodOptions {
		return answer, err
	}
	var body []byte
	if media := mediaType(answer.Header); media != "text/event-stream" {
		body, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		if err != nil {
			return answer, nil
		}
	}
	for _, fault := range Faults(r.Method, r.URL.EscapedPath(), answer, body) {
		if _, told := reported.LoadOrStore(fmt.Sprint(r.Method, answer.StatusCode, fault), true); told {
			continue // one is enough to fail the tests, and thousands can be alike
		}
		c.t.Errorf("%s %s: %d %.300s\nis not what the OpenAPI document says: %s", r.Method, r.URL.EscapedPath(), answer.StatusCode, body, fault)
	}
	return answer, nil
}

// failing ends a body as the connection did.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type")
	}
	return media
}

// Faults tells in what an answer differs from the document.
func Faults(method, address string, answer *http.Response, body []byte) []string {
	d, err := published()
	if err != nil {
		return []string{err.Error()}
	}
	path, o := d.find(method, decoded(address))
	if o == nil || answer.StatusCode == http.StatusMethodNotAllowed {
		return d.strange(path, answer, body)
	}
	status := strconv.Itoa(answer.StatusCode)
	r := o.Responses[status]
	if r == nil {
		return []string{"no answer " + status + " of " + o.OperationID}
	}
	faults := d.headerFaults(r, answer)
	if answer.StatusCode == http.StatusNotModified || mediaType(answer.Header) == "text/event-stream" {
		return faults
	}
	content, documented := r.Content[mediaType(answer.Header)]
	if !documented {
		return append(faults, "no media type "+answer.Header.Get("Content-Type"))
	}
	if method != http.MethodHead && strings.HasSuffix(mediaType(answer.Header), "json") {
		faults = append(faults, d.bodyFaults(content.Schema, answer, body)...)
	}
	return faults
}

// strange holds an answer at an address, or to a method, that is no operation to the two refusals that there are.
func (d *document) strange(path string, answer *http.Response, body []byte) []string {
	var problem struct{ Code string }
	if err := json.Unmarshal(plain(answer, body), &problem); err != nil && answer.Request.Method != http.MethodHead {
		return []string{err.Error()}
	}
	want := map[string]int{"NOT_FOUND": http.StatusNotFound, "METHOD_NOT_ALLOWED": http.StatusMethodNotAllowed, "HEADERS_TOO_LARGE": 431}
	if answer.Request.Method != http.MethodHead && want[problem.Code] != answer.StatusCode || path == "" && answer.StatusCode == http.StatusMethodNotAllowed {
		return []string{"no such operation, and it is not refused as one"}
	}
	if answer.Request.Method == http.MethodHead {
		return nil
	}
	return d.bodyFaults(json.RawMessage(`{"allOf":[{"$ref":"#/components/schemas/Problem"}]}`), answer, body)
}

// own are the headers that an answer has only if the document says so.
var own = []string{"Etag", "Retry-After", "Www-Authenticate", "Idempotent-Replayed", "Payment-Required", "Payment-Response", "Location", "Link"}

func (d *document) headerFaults(r *response, answer *http.Response) (faults []string) {
	documented := map[string]*header{}
	for name, h := range r.Headers {
		h = d.header(h)
		documented[http.CanonicalHeaderKey(name)] = h
		if h.Required && answer.Header.Get(name) == "" {
			faults = append(faults, "no "+name)
		}
	}
	for name, values := range answer.Header {
		if !slices.Contains(own, name) && !strings.HasPrefix(name, "X-Aanet-") && name != "X-Request-Id" {
			continue
		}
		h := documented[name]
		if h == nil || len(values) != 1 {
			faults = append(faults, fmt.Sprintf("%s: %q", name, values))
			continue
		}
		if _, err := strconv.ParseUint(values[0], 10, 64); h.Schema.Type == "integer" && err != nil {
			faults = append(faults, fmt.Sprintf("%s is no integer: %q", name, values[0]))
		}
	}
	return faults
}

// resolved keeps the schemas that were used, by their text: many operations share one.
var resolved sync.Map

func (d *document) bodyFaults(raw json.RawMessage, answer *http.Response, body []byte) []string {
	kept, there := resolved.Load(string(raw))
	if !there {
		schema, err := d.schema(raw)
		if err != nil {
			return []string{err.Error()}
		}
		kept, _ = resolved.LoadOrStore(string(raw), schema)
	}
	var value any
	if err := json.Unmarshal(plain(answer, body), &value); err != nil {
		return []string{err.Error()}
	}
	if err := kept.(*jsonschema.Resolved).Validate(value); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// plain is the body without its compression.
func plain(answer *http.Response, body []byte) []byte {
	if answer.Header.Get("Content-Encoding") != "gzip" {
		return body
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return body
	}
	return text
}
