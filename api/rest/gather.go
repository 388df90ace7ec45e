package rest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aanet/api"
)

// input collects the one flat object of arguments that an operation takes, from the address, the query,
// the body and the headers. An argument given in the wrong place, or in two, is a fault.
type input struct {
	op     *api.Op
	params map[string]string
	values map[string]any
	faults []api.FieldFault
}

// gather makes the call's request out of everything but the credential.
func gather(r *http.Request, a address, op *api.Op, body []byte) api.Request {
	in := input{op: op, params: a.params, values: map[string]any{}}
	request := api.Request{Bytes: len(body)}
	for name, value := range a.params {
		if name == "workspace_id" {
			request.Workspace = &value
		} else {
			in.values[name] = value
		}
	}
	fields, fault := api.DecodeBody(body)
	if fault != nil {
		request.Fault = fault // logged without a subject, as over MCP, where nothing of the input is known then
		return request
	}
	request.Input = in.values
	in.refuseSlash()
	in.query(r.URL.RawQuery)
	in.body(fields, r.Method)
	in.ifMatch(r.Header)
	in.ifNoneMatch(r)
	in.headers(r.Header)
	request.Faults = in.faults
	return request
}

func (in *input) fault(field, message string) {
	in.faults = append(in.faults, api.FieldFault{Field: field, Message: message})
}

// refuseSlash keeps "…/files//" from being the root, which over MCP may be written "/".
func (in *input) refuseSlash() {
	if field, known := in.op.In.Field("path"); known && field.Check == "directory" && in.params["path"] == "/" {
		in.fault("path", "must not contain empty segments (two slashes in a row)")
	}
}

// query takes the arguments of operations without a body; the others have none there. Names that no
// operation has go on to the checker, which refuses them.
func (in *input) query(raw string) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		in.fault("(query)", "is not a well-formed query string")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		field, known := in.op.In.Field(name)
		_, inAddress := in.params[name]
		switch {
		case inAddress:
			in.fault(name, "is in the address and cannot be given again")
		case known && field.Hidden:
			in.fault(name, "is not an argument of this operation")
		case known && field.HeaderOnly:
			in.fault(name, "is sent as the header "+field.Header)
		case known && in.op.HasBody():
			in.fault(name, "belongs in the body, not in the query")
		case known && len(query[name]) > 1:
			in.fault(name, "is given more than once")
		default:
			in.values[name] = api.Text(query[name][0])
		}
	}
}

// body takes the fields of a JSON body. Operations that read take none; DELETE may have one.
func (in *input) body(fields map[string]any, method string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		_, inAddress := in.params[name]
		_, inQuery := in.values[name]
		field, known := in.op.In.Field(name)
		switch {
		case inAddress:
			in.fault(name, "is in the address and cannot be given again")
		case known && field.HeaderOnly:
			in.fault(name, "is sent as the header "+field.Header)
		case inQuery:
			in.fault(name, "is given in the query and in the body")
		case known && (method == http.MethodGet || method == http.MethodHead):
			in.fault(name, "belongs in the query, not in the body")
		default:
			in.values[name] = fields[name]
		}
	}
}

// ifMatch takes the header for the if_match argument. On operations without that argument the checker
// refuses it: a condition is never dropped silently.
func (in *input) ifMatch(h http.Header) {
	lines := h.Values("If-Match")
	if len(lines) == 0 {
		return
	}
	header := strings.Join(lines, ", ")
	wanted, headerOK := api.ParseIfMatch(header)
	var given string
	switch v := in.values["if_match"].(type) {
	case nil:
		in.values["if_match"] = header
		return
	case string:
		given = v
	case api.Text:
		given = string(v)
	default:
		return // the checker refuses it
	}
	etag, ok := api.ParseIfMatch(given)
	switch {
	case ok && headerOK && etag != wanted:
		in.fault("if_match", "differs from the If-Match header")
	case !headerOK:
		in.values["if_match"] = header
	}
}

// headers takes the arguments that may come in a header of their own.
func (in *input) headers(h http.Header) {
	for _, f := range in.op.In.Fields {
		lines := h.Values(f.Header)
		if f.Header == "" || len(lines) == 0 {
			continue
		}
		given := in.values[f.Name]
		switch {
		case len(lines) > 1:
			in.fault(f.Name, "is given in more than one "+f.Header+" header")
		case given != nil && given != any(lines[0]):
			in.fault(f.Name, "differs from the "+f.Header+" header")
		default:
			in.values[f.Name] = lines[0]
		}
	}
}

// ifNoneMatch takes "If-None-Match: *" of a write. On reads the header is about the answer.
func (in *input) ifNoneMatch(r *http.Request) {
	lines := r.Header.Values("If-None-Match")
	switch {
	case len(lines) == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead:
	case len(lines) == 1 && lines[0] == "*":
		in.values["if_none_match"] = api.FromHeader(true)
	default:
		in.fault("if_none_match", "must be * (create only) as a header of a write")
	}
}
