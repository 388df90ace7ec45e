package rest_test

import (
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/web"
)

// asBrowser is what a browser accepts that opens an address for its reader.
const asBrowser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// Only a reader who opens an address that is not there gets a page; programs get the problem object that they know.
func TestNotFoundForReaders(t *testing.T) {
	s := start(t, nil)
	page := s.call("GET", "/nowhere", "", asBrowser).is(404).has("Content-Type", "text/html; charset=utf-8")
	if !strings.Contains(page.body, "<h1>Nothing is here</h1>") || !strings.HasPrefix(page.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error(page.body, page.header)
	}
	for _, path := range []string{"/v1/nothing", "/.well-known/oauth-protected-resource", "/mcp/nothing"} {
		if path != "/mcp/nothing" {
			s.call("GET", path, "", asBrowser).refused(api.NotFound)
		}
		s.call("GET", path, "", "Accept: text/html").refused(api.NotFound)
	}
	s.call("GET", "/assets/style.css", "").refused(api.NotFound)
	s.call("GET", "/assets/style.0123456789abcdef.css", "").is(200).has("Cache-Control", "no-cache")
	s.call("HEAD", web.Mark.Path, "").is(200).has("Content-Type", "image/svg+xml")
}

func TestStatusPage(t *testing.T) {
	s := start(t, nil)
	plain := s.call("GET", "/status", "").is(200).has("Content-Type", "application/json").has("Cache-Control", "public, max-age=3")
	for _, field := range []string{"state", "looked_at", "database", "lanes", "background_jobs", "webhooks", "waiting", "networks", "facilitators"} {
		if _, ok := plain.json[field]; !ok {
			t.Errorf("no %s in %s", field, plain.body)
		}
	}
	page := s.call("GET", "/status", "", asBrowser).is(200).has("Content-Type", "text/html; charset=utf-8").body
	for _, part := range []string{"<h1>Status</h1>", "Database", "Lanes", "Webhooks", "Background jobs", "Solana", "No facilitator is configured here"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}

// The window is kept by nobody, runs our one script and calls us alone.
func TestWindowIsClosedToOthers(t *testing.T) {
	s := start(t, nil)
	page := s.call("GET", "/w", "").is(200).has("Cache-Control", "no-store").has("Referrer-Policy", "no-referrer")
	policy := page.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%q lacks %s", policy, part)
		}
	}
	if field := page.body[strings.Index(page.body, `<input id="key"`):]; strings.Contains(field[:strings.Index(field, ">")], "name=") {
		t.Error("a form without a script would put the key into the address")
	}
}
