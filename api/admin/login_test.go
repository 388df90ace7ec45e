package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

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
