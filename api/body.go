package api

import "strings"

// BodyBytesMax bounds the body of a request on both doors: a legal file of 1 MiB can be 6.3 MiB of JSON.
const BodyBytesMax = 8 << 20

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
