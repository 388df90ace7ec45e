package admin_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"aanet/api/admin"
	"aanet/store"
)

// filled puts an id that exists into a route's path.
func (f *furnished) filled(t *testing.T, path string) string {
	t.Helper()
	ids := map[string]string{
		"workspaces": f.ws.ID, "refunds": f.refund.String(), "deposits": f.deposit.String(),
		"webhooks": f.webhook.String(), "feedback": f.feedback.String(), "operators": f.idOf(t, person(store.RoleViewer)).String(),
	}
	noun, _, _ := strings.Cut(strings.TrimPrefix(path, admin.Root+"/"), "/")
	return strings.ReplaceAll(path, "{id}", ids[noun])
}

func (h *house) idOf(t *testing.T, email string) uuid.UUID {
	t.Helper()
	o, err := h.Store.OperatorByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

// TestEveryRoute walks the table of routes: each needs a session and its role; each change needs the form token of this
// session and our own origin; and no GET changes anything, whoever asks.
func TestEveryRoute(t *testing.T) {
	var routes []admin.Route
	f := furnish(t, func(h *house, o *admin.Options) { routes = admin.RoutesOf(admin.New(*o)) })
	as := map[store.Role]*browser{}
	for _, role := range store.Roles() {
		as[role] = f.as(t, role)
	}
	nobody, former := f.browser(t), f.as(t, store.RoleAdmin)
	otherToken := former.token()
	before := f.fingerprint(t)
	for _, r := range routes {
		path := f.filled(t, r.Path)
		form := url.Values{"reason": {"because"}, "usd": {"1"}, "id": {uuid.NewString()}, "tx": {transaction()}, "unchecked": {"yes"},
			"status": {"done"}, "role": {"admin"}, "email": {"x@aanet.example"}, "password": {"a long password"}, "old": {password}}
		if r.Method == http.MethodGet {
			checkRead(t, as, nobody, r, path)
			continue
		}
		if p := nobody.send(r.Method, path, form, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}); p.status != http.StatusForbidden {
			t.Errorf("%s %s from another site without a session: %d", r.Method, path, p.status)
		}
		if r.Least == "" {
			continue // the login itself: nobody has a session yet
		}
		if p := nobody.send(r.Method, path, form, nil); p.status != http.StatusSeeOther || !strings.HasPrefix(p.header.Get("Location"), "/admin/login") {
			t.Errorf("%s %s without a session: %d", r.Method, path, p.status)
		}
		for _, role := range store.Roles() {
			b := as[role]
			refused := func(what string, form url.Values, header map[string]string) {
				t.Helper()
				if p := b.send(r.Method, path, form, header); p.status != http.StatusForbidden {
					t.Errorf("%s %s as %s, %s: %d", r.Method, path, role, what, p.status)
				}
			}
			if r.ByScript {
				refused("without saying where it comes from", form, map[string]string{"Sec-Fetch-Site": "", "Origin": ""})
				refused("from a bookmark", form, map[string]string{"Sec-Fetch-Site": "none", "Origin": ""})
			} else {
				refused("without a token", form, nil)
				refused("with another session's token", with(form, otherToken), nil)
			}
			own := with(form, b.token())
			refused("from another site", own, map[string]string{"Sec-Fetch-Site": "cross-site"})
			refused("from another origin", own, map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.example"})
			refused("from a sandbox", own, map[string]string{"Sec-Fetch-Site": "", "Origin": "null"})
			if !role.Includes(r.Least) {
				refused("a role too low", own, nil)
			}
			if !slices.ContainsFunc(routes, func(o admin.Route) bool { return o.Method == http.MethodGet && o.Path == r.Path }) {
				if p := b.get(path + "?" + own.Encode()); p.status != http.StatusNotFound && p.status != http.StatusMethodNotAllowed {
					t.Errorf("GET %s: %d", path, p.status)
				}
			}
		}
	}
	for i, table := range f.fingerprint(t) {
		if table != before[i] {
			t.Errorf("something has changed: %s, before: %s", table, before[i])
		}
	}
}

// checkRead reads a page as everybody: it is there for whoever may see it, and carries the headers of every page.
func checkRead(t *testing.T, as map[store.Role]*browser, nobody *browser, r admin.Route, path string) {
	t.Helper()
	if p := nobody.get(path); r.Least != "" && p.status != http.StatusSeeOther {
		t.Errorf("GET %s without a session: %d", path, p.status)
	}
	for _, role := range store.Roles() {
		want := http.StatusOK
		switch {
		case r.Least == "":
			want = http.StatusSeeOther // signed in already
		case !role.Includes(r.Least):
			want = http.StatusForbidden
		}
		// What would be a change if it were posted is none.
		p := as[role].get(path + "?reason=because&usd=1&unchecked=yes&role=admin&status=open&token=" + url.QueryEscape(as[role].token()))
		if p.status != want {
			t.Errorf("GET %s as %s: %d, want %d\n%s", path, role, p.status, want, p.text())
		}
		inJobs := 0 // River's pages alone may style what their script makes
		if r.Path == admin.JobsPath+"/" {
			inJobs = 1
		}
		csp := p.header.Get("Content-Security-Policy")
		if p.header.Get("Cache-Control") != "no-store" || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(strings.Replace(csp, "style-src 'self' 'unsafe-inline'", "", inJobs), "unsafe") {
			t.Errorf("GET %s: Cache-Control %q, policy %q", path, p.header.Get("Cache-Control"), csp)
		}
	}
}

// What somebody asks of River in its own pages is in the audit log before River does it.
func TestChangingJobs(t *testing.T) {
	h := open(t, nil)
	b := h.as(t, store.RoleOperator)
	ask := func(header map[string]string) page {
		return b.send(http.MethodPost, "/admin/jobs/api/jobs/retry", nil, header)
	}
	if p := ask(nil); p.status != http.StatusOK || p.body != "River's page for POST" {
		t.Errorf("by our own script: %d %s", p.status, p.body)
	}
	if p := ask(map[string]string{"Sec-Fetch-Site": ""}); p.status != http.StatusOK { // a browser on plain http
		t.Errorf("by our own script, told by the origin: %d", p.status)
	}
	h.audited(t, "POST jobs/retry", "jobs.change", store.RoleOperator, "", "", "")
	if n := len(h.acts(t, "POST jobs/retry")); n != 2 {
		t.Errorf("%d rows", n)
	}
	if p := h.browser(t).get("/admin/jobs/api/jobs"); p.status != http.StatusUnauthorized {
		t.Errorf("a poll without a session: %d", p.status)
	}
}

func with(form url.Values, token string) url.Values {
	own := url.Values{"token": {token}}
	for name, values := range form {
		own[name] = values
	}
	return own
}
