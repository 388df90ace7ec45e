package api

import (
	"net/http"
	"strings"
)

// Bounds of a request on both doors.
const (
	BodyBytesMax   = 8 << 20  // a legal file of 1 MiB can be 6.3 MiB of JSON
	HeaderBytesMax = 16 << 10 //
)

// DecodeBody reads a request body: one JSON object, strictly. An empty body counts as {}.
func DecodeBody(body []byte) (map[string]any, *Refusal) {
	object, fault := decodeObject(body)
	switch {
	case fault == nil:
		return object, nil
	case fault.overLimit:
		message := strings.TrimSuffix(strings.TrimPrefix(fault.detail, "The input "), ".")
		return nil, &Refusal{Code: InvalidArgument, Detail: fault.detail, Errors: []FieldFault{{"(input)", message}}}
	default:
		return nil, &Refusal{Code: Malformed, Detail: fault.detail}
	}
}

// HeaderBytes is the size of the header block as it is sent over HTTP/1.1, without the request line.
func HeaderBytes(r *http.Request) int {
	const separators = len(": \r\n")
	n := len("Host") + len(r.Host) + separators
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + separators
		}
	}
	return n
}
