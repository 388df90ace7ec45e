package admin

import (
	"net/http"
	"strings"
	"time"

	"aanet/api/operators"
)

// cookies are the two that the dashboard sets: one is the session, the other says that this browser was here before.
type cookies struct {
	secure       bool
	login, known string
}

// cookiesFor chooses their names. A __Host- cookie is bound to https and to this very host. Where people use plain http,
// which is a private service on their own machine, browsers would not all send such cookies back.
func cookiesFor(publicURL string) cookies {
	if strings.HasPrefix(publicURL, "https://") {
		return cookies{true, "__Host-aanet-operator", "__Host-aanet-device"}
	}
	return cookies{false, "aanet-operator", "aanet-device"}
}

func valueOf(r *http.Request, name string) string {
	// Somebody who can set cookies for a parent domain adds a second one: then there is none.
	found := r.CookiesNamed(name)
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

func (c cookies) session(r *http.Request) string { return valueOf(r, c.login) }

func (c cookies) device(r *http.Request) string { return valueOf(r, c.known) }

// set gives the browser what a login brought.
func (c cookies) set(w http.ResponseWriter, t operators.Ticket) {
	http.SetCookie(w, c.cookie(c.login, t.Token, 0))
	http.SetCookie(w, c.cookie(c.known, t.Device, int(operators.FamiliarFor/time.Second)))
}

// drop takes the session's away.
func (c cookies) drop(w http.ResponseWriter) { http.SetCookie(w, c.cookie(c.login, "", -1)) }

func (c cookies) cookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}
