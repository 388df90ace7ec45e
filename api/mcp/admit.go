package mcp

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aanet/api"
)

// admit refuses foreign hosts and origins and all methods but POST; it answers those itself.
func (d *door) admit(w *answerWriter, r *http.Request) bool {
	if !hostAllowed(d.options.AllowedHosts, r.Host) {
		w.rpcError(http.StatusForbidden, &rpcFault{codeInvalidRequest, "Forbidden: this service is not known by that Host."})
		return false
	}
	origin := r.Header.Get("Origin")
	listed := slices.ContainsFunc(d.options.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) })
	if origin != "" && !listed && !sameHost(origin, r.Host) {
		w.rpcError(http.StatusForbidden, &rpcFault{codeInvalidRequest, "Forbidden: pages of this Origin may not call."})
		return false
	}
	if listed {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "X-Request-Id")
		w.Header().Add("Vary", "Origin")
	}
	if r.Method == http.MethodPost {
		return true
	}
	if listed && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id")
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	w.Header().Set("Allow", http.MethodPost)
	w.problem(api.Refuse(api.MethodNotAllowed))
	return false
}

// hostAllowed compares Host with the list, where an entry without port stands for all ports.
func hostAllowed(allowed []string, host string) bool {
	return len(allowed) == 0 || slices.ContainsFunc(allowed, func(a string) bool {
		return strings.EqualFold(a, host) || strings.EqualFold(a, hostname(host))
	})
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// sameHost tells whether a page came from this very service. Browsers leave the scheme's own port out on both sides.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
