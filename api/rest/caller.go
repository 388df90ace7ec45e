package rest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

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
