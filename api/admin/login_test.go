package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/admin"
	"aanet/store"
)

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

const sessionCookie = "aanet-operator"

// The cookie before a login is not the one after it, and a cookie that somebody put there is never taken for a session.
func TestSessionFixation(t *testing.T) {
	h := open(t, nil)
	b := h.browser(t)
	preset := strings.Repeat("A", 43)
	b.put(sessionCookie, preset)
	if p := b.login(person(store.RoleViewer), password); p.status != http.StatusSeeOther {
		t.Fatalf("login: %d %s", p.status, p.text())
	}
	first := b.cookie(sessionCookie)
	if first == "" || first == preset {
		t.Fatalf("after the login the cookie is %q", first)
	}
	b.see("/admin", "Overview", person(store.RoleViewer))
	stranger := h.browser(t)
	stranger.put(sessionCookie, preset)
	if p := stranger.get("/admin"); p.status != http.StatusSeeOther {
		t.Errorf("the preset cookie opens the dashboard: %d", p.status)
	}
	// A second login in the same browser has another cookie, and the first one is dead.
	if p := b.login(person(store.RoleViewer), password); p.status != http.StatusSeeOther || b.cookie(sessionCookie) == first {
		t.Errorf("a second login: %d, cookie changed: %t", p.status, b.cookie(sessionCookie) != first)
	}
	stranger.put(sessionCookie, first)
	if p := stranger.get("/admin"); p.status != http.StatusSeeOther {
		t.Errorf("the cookie of the first login still opens the dashboard: %d", p.status)
	}
}

// A login, as a form.
func credentials(email, secret string) url.Values {
	return url.Values{"email": {email}, "password": {secret}}
}

func TestCookieAfterLogout(t *testing.T) {
	h := open(t, nil)
	b, other := h.as(t, store.RoleAdmin), h.as(t, store.RoleAdmin)
	old := b.cookie(sessionCookie)
	if p := b.post("/admin/logout", nil); p.status != http.StatusSeeOther || b.cookie(sessionCookie) != "" {
		t.Errorf("logout: %d, the cookie is %q", p.status, b.cookie(sessionCookie))
	}
	b.put(sessionCookie, old)
	if p := b.get("/admin"); p.status != http.StatusSeeOther || !strings.HasPrefix(p.header.Get("Location"), "/admin/login") {
		t.Errorf("the cookie after the logout: %d", p.status)
	}
	other.see("/admin", "Overview")
	third := h.as(t, store.RoleAdmin)
	if p := other.post("/admin/account/logout-everywhere", nil); p.status != http.StatusSeeOther {
		t.Errorf("logout everywhere: %d", p.status)
	}
	for _, one := range []*browser{other, third} {
		if p := one.get("/admin"); p.status != http.StatusSeeOther {
			t.Errorf("after a logout everywhere: %d", p.status)
		}
	}
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	h := open(t, nil)
	b, other := h.as(t, store.RoleViewer), h.as(t, store.RoleViewer)
	for _, c := range []struct{ old, fresh, says string }{
		{"not this one at all", "a new long password", "this is not your password"},
		{password, "short", "12 to 200"},
		{password, strings.Repeat("é", 201), "12 to 200"},
	} {
		if p := b.post("/admin/account/password", url.Values{"old": {c.old}, "password": {c.fresh}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text(), c.says) {
			t.Errorf("%q to %q: %d %s", c.old, c.fresh, p.status, p.text())
		}
	}
	other.see("/admin")
	b.done("/admin/account/password", url.Values{"old": {password}, "password": {strings.Repeat("é", 12)}})
	if p := other.get("/admin"); p.status != http.StatusSeeOther {
		t.Errorf("another session after a change of the password: %d", p.status)
	}
	if p := h.browser(t).login(person(store.RoleViewer), password); p.status != http.StatusUnauthorized {
		t.Errorf("the old password: %d", p.status)
	}
	if p := h.browser(t).login(person(store.RoleViewer), strings.Repeat("é", 12)); p.status != http.StatusSeeOther {
		t.Errorf("the new password: %d", p.status)
	}
}

// A session ends when it is not used for half an hour, and after twelve hours however it is used.
func TestSessionsExpire(t *testing.T) {
	h := open(t, nil)
	b, idle := h.as(t, store.RoleViewer), h.as(t, store.RoleOperator)
	alive := func(b *browser, header map[string]string) bool {
		return b.send(http.MethodGet, "/admin/account", nil, header).status == http.StatusOK
	}
	byItself := map[string]string{"X-AANet-Refresh": "1"}
	h.clock.pass(29 * time.Minute)
	if !alive(b, nil) || !alive(idle, byItself) {
		t.Fatal("a session has ended before half an hour")
	}
	h.clock.pass(time.Minute)
	if !alive(b, nil) || alive(idle, byItself) {
		t.Fatal("a page that only refreshes itself keeps its session, or one in use has ended")
	}
	for range 23 { // up to 12 h without a minute
		h.clock.pass(29*time.Minute + 57*time.Second)
		if !alive(b, nil) {
			t.Fatal("a session in use has ended")
		}
	}
	h.clock.pass(9 * time.Second)
	if !alive(b, nil) {
		t.Error("it has ended before twelve hours")
	}
	h.clock.pass(time.Minute)
	if alive(b, nil) {
		t.Error("it goes on after twelve hours")
	}
	if p := b.send(http.MethodGet, "/admin/account", nil, byItself); p.status != http.StatusUnauthorized {
		t.Errorf("a page that refreshes itself is told %d", p.status)
	}
}

// Thirty wrong logins that claim to come from everywhere are stopped; the operator gets in all the same, in the browser
// that he has used before and from another address.
func TestBruteForce(t *testing.T) {
	h := open(t, nil)
	email := person(store.RoleAdmin)
	mine, attacker := h.as(t, store.RoleAdmin), h.browser(t)
	mine.post("/admin/logout", nil)
	got := map[int]int{}
	for i := range 30 {
		header := map[string]string{"X-Forwarded-For": fmt.Sprintf("203.0.113.%d", i), "Forwarded": fmt.Sprintf("for=203.0.113.%d", i)}
		p := attacker.send(http.MethodPost, "/admin/login", credentials(email, fmt.Sprintf("wrong password %d", i)), header)
		got[p.status]++
		if p.status == http.StatusTooManyRequests && p.header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
	}
	if got[http.StatusUnauthorized] != 5 || got[http.StatusTooManyRequests] != 25 {
		t.Errorf("the answers are %v", got)
	}
	if p := attacker.login(email, password); p.status != http.StatusTooManyRequests {
		t.Errorf("the right password from there: %d", p.status)
	}
	if p := mine.login(email, password); p.status != http.StatusSeeOther {
		t.Errorf("the operator in the browser that he knows, from the same address: %d", p.status)
	}
	elsewhere := h.browser(t)
	if p := elsewhere.send(http.MethodPost, "/admin/login", credentials(email, password), map[string]string{addressHeader: "192.0.2.77"}); p.status != http.StatusSeeOther {
		t.Errorf("the operator from elsewhere: %d", p.status)
	}
	h.clock.pass(16 * time.Minute)
	if p := attacker.login(email, "wrong password"); p.status != http.StatusUnauthorized {
		t.Errorf("a quarter of an hour later: %d", p.status)
	}
}

// The answer does not tell whether there is such an account.
func TestWrongLoginsLookTheSame(t *testing.T) {
	h := open(t, nil)
	h.enrol(t, "disabled@aanet.example", store.RoleViewer)
	if err := h.operators.Disable(t.Context(), store.Act{By: "cli:test"}, h.idOf(t, "disabled@aanet.example")); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, c := range []struct{ email, secret string }{
		{person(store.RoleAdmin), "wrong password"}, {"nobody@aanet.example", password}, {"disabled@aanet.example", password},
		{"", ""}, {"a\x00b@aanet.example", password}, {strings.Repeat("x", 5000), password}, {person(store.RoleAdmin), strings.Repeat("x", 10_000)},
	} {
		p := h.browser(t).send(http.MethodPost, "/admin/login", credentials(c.email, c.secret), map[string]string{addressHeader: fmt.Sprintf("192.0.2.%d", i)})
		if p.status != http.StatusUnauthorized {
			t.Errorf("%.40q: %d", c.email, p.status)
		}
		texts = append(texts, p.text())
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("one reads %q, another %q", texts[0], text)
		}
	}
	if p := h.browser(t).login("  ADMIN@aanet.example ", password); p.status != http.StatusSeeOther {
		t.Errorf("an address in capitals: %d", p.status)
	}
}

// Keys of workspaces open nothing here.
func TestKeysDoNotOpenIt(t *testing.T) {
	h := open(t, nil)
	key := h.Workspace(t, 100).Owner.Key
	b := h.browser(t)
	if p := b.send(http.MethodGet, "/admin", nil, map[string]string{"Authorization": "Bearer " + key}); p.status != http.StatusSeeOther {
		t.Errorf("as bearer: %d", p.status)
	}
	b.put(sessionCookie, key)
	if p := b.get("/admin"); p.status != http.StatusSeeOther {
		t.Errorf("as cookie: %d", p.status)
	}
	for _, c := range []url.Values{credentials(person(store.RoleAdmin), key), credentials(key, key)} {
		if p := h.browser(t).send(http.MethodPost, "/admin/login", c, nil); p.status != http.StatusUnauthorized {
			t.Errorf("as password: %d", p.status)
		}
	}
}

// Where browsers come by https, the cookies are bound to it and to this very host.
func TestCookiesAreBound(t *testing.T) {
	for scheme, names := range map[string][2]string{"https": {"__Host-aanet-operator", "__Host-aanet-device"}, "http": {"aanet-operator", "aanet-device"}} {
		h := open(t, func(h *house, o *admin.Options) { o.PublicURL = scheme + "://aanet.example" })
		p := h.browser(t).login(person(store.RoleViewer), password)
		found := map[string]*http.Cookie{}
		for _, line := range p.header.Values("Set-Cookie") {
			c, err := http.ParseSetCookie(line)
			if err != nil {
				t.Fatal(err)
			}
			found[c.Name] = c
		}
		for _, name := range names {
			c := found[name]
			if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure != (scheme == "https") || len(c.Value) != 43 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if c := found[names[0]]; c != nil && c.MaxAge != 0 {
			t.Error("the session's cookie outlives the browser")
		}
	}
}

// The page after the login is one of ours, wherever a link wants to lead.
func TestNextPageIsOurs(t *testing.T) {
	h := open(t, nil)
	b := h.browser(t)
	if p := b.get("/admin/audit?actor=x"); p.header.Get("Location") != "/admin/login?next=%2Fadmin%2Faudit%3Factor%3Dx" {
		t.Errorf("leads to %s", p.header.Get("Location"))
	}
	for next, want := range map[string]string{
		"/admin/audit?actor=x": "/admin/audit?actor=x", "//evil.example/admin/": "/admin", "https://evil.example/admin/": "/admin",
		"/admin/\\evil.example": "/admin", "/v1/workspaces": "/admin", "javascript:alert(1)": "/admin", "": "/admin",
	} {
		form := credentials(person(store.RoleViewer), password)
		form.Set("next", next)
		if p := b.send(http.MethodPost, "/admin/login", form, nil); p.header.Get("Location") != want {
			t.Errorf("%q leads to %q", next, p.header.Get("Location"))
		}
	}
}
