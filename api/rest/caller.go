package rest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// credential is the key of the one Authorization header, which reads "Bearer", one space, the key; only
// the case of the scheme may vary. Anything else is no key.
func credential(h http.Header) string {
	lines := h.Values("Authorization")
	if len(lines) != 1 {
		return ""
	}
	scheme, key, found := strings.Cut(lines[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || strings.ContainsFunc(key, outsideToken) {
		return ""
	}
	return key
}

// outsideToken tells whether a character cannot be in a bearer token (RFC 6750's b64token).
func outsideToken(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !letter && !strings.ContainsRune("-._~+/=", c)
}

// ClientAddr gives a function that finds the address of a request's client: the peer's, or, when the peer
// is one of the trusted proxies, the last address in X-Forwarded-For that no trusted proxy has.
func ClientAddr(trusted []netip.Prefix) func(*http.Request) netip.Addr {
	isTrusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return func(r *http.Request) netip.Addr {
		client, ok := addrOf(r.RemoteAddr)
		if !ok {
			return netip.Addr{}
		}
		chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(chain) {
			if !isTrusted(client) {
				break
			}
			before, ok := addrOf(strings.TrimSpace(hop))
			if !ok {
				break
			}
			client = before
		}
		return client
	}
}

// addrOf reads an address with or without a port.
func addrOf(s string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err == nil
}

// hostAllowed tells whether the Host header is one of the allowed names, which may have a port.
func hostAllowed(allowed []string, host string) bool {
	if len(allowed) == 0 {
		return true
	}
	host = strings.ToLower(host)
	name := host
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name = host[:i]
	}
	return slices.ContainsFunc(allowed, func(a string) bool {
		return strings.EqualFold(a, host) || strings.EqualFold(a, name) || strings.EqualFold(a, strings.TrimSuffix(name, "."))
	})
}
