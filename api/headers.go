package api

import (
	"mime"
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

// DeclaredJSON tells whether the headers declare a body of JSON in UTF-8 without any encoding over it.
func DeclaredJSON(h http.Header) bool {
	encodings, types := h.Values("Content-Encoding"), h.Values("Content-Type")
	if len(types) != 1 || slices.ContainsFunc(encodings, func(e string) bool { return !strings.EqualFold(e, "identity") }) {
		return false
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
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
