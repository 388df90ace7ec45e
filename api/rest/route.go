package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aanet/api"
)

// pattern is one address of the API, such as /v1/workspaces/{workspace_id}/files/{path...}, with the
// operations that are there.
type pattern struct {
	path   string
	parts  []part
	ops    map[string]*api.Op // by method
	allow  string             // for the Allow header
	listed bool               // the same with a slash at its end is this address too: a list of what lies below it
}

// part is one segment: a literal, a parameter, or a parameter that takes the rest of the address.
type part struct {
	literal, param string
	rest           bool
}

// routes are all patterns, literal segments before parameters.
type routes []*pattern

// address is a pattern that a request's path fits, with its parameters.
type address struct {
	*pattern
	params map[string]string
}

func newRoutes(ops []*api.Op) routes {
	var all routes
	for _, op := range ops {
		i := slices.IndexFunc(all, func(t *pattern) bool { return t.path == op.Path })
		if i < 0 {
			i = len(all)
			all = append(all, &pattern{path: op.Path, parts: partsOf(op.Path), ops: map[string]*api.Op{}})
		}
		all[i].ops[op.Method] = op
	}
	for _, t := range all {
		t.allow = allowed(t.ops)
		t.listed = slices.ContainsFunc(all, func(o *pattern) bool {
			return strings.HasPrefix(o.path, t.path+"/") && len(o.parts) == len(t.parts)+1 && o.parts[len(t.parts)].rest
		})
	}
	slices.SortStableFunc(all, func(a, b *pattern) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}

// rank puts a pattern with a parameter where another has a literal behind that one.
func (t *pattern) rank() (n int) {
	for _, p := range t.parts {
		switch {
		case p.rest:
			n += 100
		case p.param != "":
			n++
		}
	}
	return n
}

func partsOf(path string) []part {
	var parts []part
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		name, isParam := strings.CutPrefix(strings.TrimSuffix(segment, "}"), "{")
		name, rest := strings.CutSuffix(name, "...")
		if isParam {
			parts = append(parts, part{param: name, rest: rest})
		} else {
			parts = append(parts, part{literal: segment})
		}
	}
	return parts
}

func allowed(ops map[string]*api.Op) string {
	methods := []string{http.MethodOptions}
	for method := range ops {
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// find resolves the path of a request, still percent-encoded. Each segment is decoded exactly once and
// nothing is folded: "a%2Fb" at the end of a file's address is "a/b", "a//b" and ".." are what they are.
func (rs routes) find(escaped string) (address, bool) {
	raw := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	segments := make([]string, len(raw))
	for i, s := range raw {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return address{}, false
		}
		segments[i] = decoded
	}
	for _, t := range rs {
		if params, ok := t.match(segments); ok {
			return address{t, params}, true
		}
	}
	return address{}, false
}

func (t *pattern) match(segments []string) (map[string]string, bool) {
	params := map[string]string{}
	for i, p := range t.parts {
		switch {
		case p.rest:
			params[p.param] = strings.Join(segments[i:], "/")
			return params, true
		case i >= len(segments), p.literal != "" && p.literal != segments[i], segments[i] == "":
			return nil, false
		case p.param != "":
			params[p.param] = segments[i]
		}
	}
	over := segments[len(t.parts):]
	return params, len(over) == 0 || t.listed && len(over) == 1 && over[0] == ""
}

// operation is what a method means here; HEAD is a GET whose body is not sent.
func (a address) operation(method string) (*api.Op, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	op, ok := a.ops[method]
	return op, ok
}
