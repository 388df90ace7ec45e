package openapitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"aanet/api/rest"
)

// document is the part of the OpenAPI document that answers are held to.
type document struct {
	Paths      map[string]map[string]*operation
	Components struct {
		Schemas   map[string]any
		Responses map[string]*response
		Headers   map[string]*header
	}

	routes []route
}

type operation struct {
	OperationID string `json:"operationId"`
	Responses   map[string]*response
}

// response is what the document says of one status, or a reference to a shared one.
type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]*header
	Content map[string]struct{ Schema json.RawMessage }
}

type header struct {
	Ref      string `json:"$ref"`
	Required bool
	Schema   struct {
		Type string
	}
}

// route finds the addresses that a path of the document stands for.
type route struct {
	path    string
	pattern *regexp.Regexp
}

// published is the document of this build, read once.
var published = sync.OnceValues(func() (*document, error) {
	text, err := rest.OpenAPI()
	if err != nil {
		return nil, fmt.Errorf("openapi document: %w", err)
	}
	d := &document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("openapi document: %w", err)
	}
	for path, operations := range d.Paths {
		d.routes = append(d.routes, route{path, pathPattern(path)})
		for _, o := range operations {
			for status, r := range o.Responses {
				if name, shared := strings.CutPrefix(r.Ref, "#/components/responses/"); shared {
					o.Responses[status] = d.Components.Responses[name]
				}
			}
		}
	}
	return d, nil
})

var parameter = regexp.MustCompile(`\\\{(\w+)\\\}`)

// pathPattern takes any segment for a parameter, and the rest of the address for those that may hold slashes. A list
// may be asked for with a slash at its end.
func pathPattern(path string) *regexp.Regexp {
	quoted := parameter.ReplaceAllStringFunc(regexp.QuoteMeta(path), func(p string) string {
		if name := strings.Trim(p, `\{}`); name == "path" || name == "name" {
			return ".*"
		}
		return "[^/]+"
	})
	if strings.HasSuffix(path, "/files") || strings.HasSuffix(path, "/locks") {
		quoted += "/?"
	}
	quoted = strings.TrimSuffix(quoted, "/.*") + map[bool]string{true: "(/.*)?"}[strings.HasSuffix(quoted, "/.*")]
	return regexp.MustCompile("(?s)^" + quoted + "$")
}

// find gives what the document has at an address; the most literal path wins. A path that is there without this method
// gives no operation.
func (d *document) find(method, address string) (path string, o *operation) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range d.routes {
		if !r.pattern.MatchString(address) {
			continue
		}
		here := d.Paths[r.path][strings.ToLower(method)]
		if path == "" || here != nil && (o == nil || literal(r.path) > literal(path)) {
			path, o = r.path, here
		}
	}
	return path, o
}

// decoded is an address with each segment decoded; a slash within one is none that separates.
func decoded(address string) string {
	segments := strings.Split(address, "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			segments[i] = strings.ReplaceAll(plain, "/", "%2F")
		}
	}
	return strings.Join(segments, "/")
}

// literal ranks paths: fewer parameters first, then the longer one.
func literal(path string) int { return len(path) - 1000*strings.Count(path, "{") }

// header follows a reference.
func (d *document) header(h *header) *header {
	if name, shared := strings.CutPrefix(h.Ref, "#/components/headers/"); shared {
		return d.Components.Headers[name]
	}
	return h
}
