package admin_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/admin"
	"aanet/api/apitest"
	"aanet/api/operators"
	"aanet/api/rest"
	"aanet/api/web/browsertest"
	"aanet/billing/deposits"
	"aanet/billing/refunds"
	"aanet/store"
)

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// house is a service with its dashboard.
type house struct {
	*apitest.World
	clock     *clock
	operators *operators.Service
	counting  *clock // by which answers are counted
	minutes   *api.Minutes
	url       string
}

const password = "correct horse battery"

// person is how operators are named in these tests.
func person(role store.Role) string { return string(role) + "@aanet.example" }

// open makes a dashboard with one operator of each role. change may alter its options.
func open(t *testing.T, change func(*house, *admin.Options)) *house {
	t.Helper()
	return openWith(t, apitest.Options{}, change)
}

func openWith(t *testing.T, o apitest.Options, change func(*house, *admin.Options)) *house {
	t.Helper()
	h := &house{World: apitest.New(t, o), clock: &clock{at: time.Now()}}
	h.counting = &clock{at: h.clock.now()}
	h.operators, h.minutes = operators.New(h.Store, h.clock.now), api.NewMinutes(h.counting.now)
	for _, role := range store.Roles() {
		h.enrol(t, person(role), role)
	}
	h.serve(t, change)
	return h
}

// serve starts another replica of the dashboard, and of the REST door, on the same database, which h then is.
func (h *house) serve(t *testing.T, change func(*house, *admin.Options)) {
	t.Helper()
	proxies := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	o := admin.Options{
		Store: h.Store, Operators: h.operators, Pricing: h.Service.Pricing,
		Jobs: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "River's page for %s", r.Method) }),

		Refunds: refunds.Desk{Store: h.Store}, Deposits: deposits.Desk{Store: h.Store},
		ClientAddr: seen(rest.ClientAddr(proxies)), Now: h.clock.now,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	server := httptest.NewUnstartedServer(nil)
	o.PublicURL = "http://" + server.Listener.Addr().String()
	if change != nil {
		change(h, &o)
	}
	metrics := api.NewMetrics(prometheus.NewRegistry())
	metrics.CountMinutes(h.minutes)
	server.Config.Handler = rest.New(h.Service, rest.Options{
		Admin: admin.New(o), PublicURL: o.PublicURL, Log: o.Log, Metrics: metrics, Version: "test", Ready: func(context.Context) error { return nil },
	})
	server.Start()
	t.Cleanup(server.Close)
	h.url = server.URL
}

// enrol adds an operator. All have the same password, hashed once: hashing takes long on purpose.
func (h *house) enrol(t *testing.T, email string, role store.Role) store.Operator {
	t.Helper()
	act := store.Act{By: "cli:test"}
	hashed.Do(func() {
		o, err := h.operators.Create(t.Context(), act, operators.NewOperator{Email: "hash@aanet.example", Password: password, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		made, err := h.Store.OperatorByID(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		hash = made.PasswordHash
	})
	o := store.Operator{ID: newID(), Email: email, Name: "a person", Role: role, PasswordHash: hash}
	if err := h.Store.CreateOperator(t.Context(), act, o); err != nil {
		t.Fatal(err)
	}
	return o
}

var (
	hashed sync.Once
	hash   string
)

// browser is a browser without scripts: it keeps cookies, follows no redirects and sends what a browser sends.
type browser struct {
	t    *testing.T
	url  string
	http http.Client
}

func (h *house) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, url: h.url, http: http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is an answer.
type page struct {
	status int
	header http.Header
	body   string
}

func (b *browser) send(method, path string, form url.Values, header map[string]string) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range header {
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{answer.StatusCode, answer.Header, string(body)}
}

func (b *browser) get(path string) page {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil, nil)
}

// see reads a page that must be there and show the texts.
func (b *browser) see(path string, texts ...string) page {
	b.t.Helper()
	p := b.get(path)
	if p.status != http.StatusOK {
		b.t.Fatalf("%s: %d %s", path, p.status, p.text())
	}
	for _, text := range texts {
		if !strings.Contains(p.text(), text) {
			b.t.Errorf("%s does not show %q:\n%s", path, text, p.text())
		}
	}
	return p
}

// post sends a form with the token of this session.
func (b *browser) post(path string, form url.Values) page {
	b.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	form.Set("token", b.token())
	return b.send(http.MethodPost, path, form, nil)
}

// done posts a form that must be accepted, and gives the page that it leads to.
func (b *browser) done(path string, form url.Values) page {
	b.t.Helper()
	p := b.post(path, form)
	if p.status != http.StatusSeeOther {
		b.t.Fatalf("%s: %d %s", path, p.status, p.text())
	}
	return b.see(p.header.Get("Location"))
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token is the form token of this session; empty: there is no session.
func (b *browser) token() string {
	b.t.Helper()
	found := tokenField.FindStringSubmatch(b.get("/admin/account").body)
	if found == nil {
		return ""
	}
	return found[1]
}

func (b *browser) login(email, secret string) page {
	b.t.Helper()
	return b.send(http.MethodPost, "/admin/login", url.Values{"email": {email}, "password": {secret}}, nil)
}

// as is a browser with a session of the role.
func (h *house) as(t *testing.T, role store.Role) *browser {
	t.Helper()
	b := h.browser(t)
	if p := b.login(person(role), password); p.status != http.StatusSeeOther {
		t.Fatalf("login: %d %s", p.status, p.text())
	}
	return b
}

// cookie is the value that the browser has under a name.
func (b *browser) cookie(name string) string {
	at, err := url.Parse(b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.http.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// put sets a cookie as somebody could who has the browser in hand for a moment.
func (b *browser) put(name, value string) {
	at, err := url.Parse(b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	b.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

var (
	tags   = regexp.MustCompile(`(?s)<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// text is what a reader sees of a page.
func (p page) text() string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(p.body, " ")), " "))
}

func TestMain(m *testing.M) { browsertest.Main(m) }

// addressHeader is how a test comes from elsewhere: all its connections are from loopback.
const addressHeader = "X-Test-Address"

func seen(otherwise func(*http.Request) netip.Addr) func(*http.Request) netip.Addr {
	return func(r *http.Request) netip.Addr {
		if a, err := netip.ParseAddr(r.Header.Get(addressHeader)); err == nil {
			return a
		}
		return otherwise(r)
	}
}
