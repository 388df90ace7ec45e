package admin

import (
	"net/http"
	"strings"

	"aanet/store"
)

// Route is a row of the table of routes, as tests see it.
type Route struct {
	Method, Path string
	Least        store.Role
	ByScript     bool // it needs no form token, but to come from our own pages
}

// RoutesOf lists the routes of a dashboard.
func RoutesOf(h http.Handler) (all []Route) {
	for _, r := range h.(*door).routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		all = append(all, Route{method, path, r.least, r.byScript()})
	}
	return all
}
