package mcp

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aanet/api"
)

// admit refuses foreign hosts and origins and all methods but POST; it answers those itself.
func (d *door) admit(w *answerWriter, r *http.Request) bool {
	if !api.HostAllowed(d.options.AllowedHosts, r.Host) {
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

// sameHost tells whether a page came from this very service. Browsers leave the scheme's own port out on both sides.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}
