package api

import (
	"net/http"
	"slices"
	"strings"
)

// HeaderBytesMax bounds the headers of a request on both doors, as HeaderBytes counts them.
const HeaderBytesMax = 16 << 10

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

// BearerKey is the key of the one Authorization header, which reads "Bearer", one space, the key; only the case of the
// scheme may vary. Anything else is no key.
func BearerKey(h http.Header) string {
	lines := h.Values("Authorization")
	if len(lines) != 1 {
		return ""
	}
	scheme, key, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return key
}

// HostAllowed tells whether a Host header is one of the allowed names, of which one without a port stands for all ports.
// Without any name all hosts are allowed.
func HostAllowed(allowed []string, host string) bool {
	name := host
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name = host[:i]
	}
	return len(allowed) == 0 || slices.ContainsFunc(allowed, func(a string) bool {
		return strings.EqualFold(a, host) || strings.EqualFold(a, name) || strings.EqualFold(a, strings.TrimSuffix(name, "."))
	})
}
