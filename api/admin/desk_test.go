package admin_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crypto/x509"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/admin"
	"aanet/api/apitest"
	"aanet/api/web/browsertest"
	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
	"aanet/store/jobs"
	"aanet/webhooks"
)

// desk is the dashboard as operators use it: of a service with its REST door, a facilitator and a chain that do as they
// are told, webhooks that are delivered, and background jobs. All tests of acts share it; each makes tenants of its own.
type desk struct {
	*house
	bank     *apitest.Bank
	receiver *httptest.Server // takes webhooks, once receives says so
	receives atomic.Bool
	routes   []admin.Route
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{bank: apitest.NewBank(t, time.Now, time.Minute)}
	d.receiver = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !d.receives.Load() {
			http.Error(w, "The disk is full.", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(d.receiver.Close)
	guard := webhooks.NewGuard(webhooks.GuardOptions{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	sealer, quiet := webhooks.EphemeralSealer(), slog.New(slog.DiscardHandler)
	options := apitest.Options{
		Log: quiet, Clock: time.Now, Webhooks: api.WebhookConfig{Guard: guard, Sealer: sealer},
		Deposits: func(s *store.Store) *deposits.Engine { return d.bank.Engine(s) },
	}
	d.house = openWith(t, options, func(h *house, o *admin.Options) {
		if err := jobs.Migrate(t.Context(), h.DSN, quiet); err != nil {
			t.Fatal(err)
		}
		work, err := jobs.Start(t.Context(), jobs.Options{URL: h.DSN, Store: h.Store, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stopped(t, work) })
		if o.Jobs, err = work.UI(t.Context(), admin.JobsPath); err != nil {
			t.Fatal(err)
		}
		o.Refunds.Evidence, o.Deposits.Evidence, o.Now = d.bank.Chain, d.bank.Chain, time.Now
		d.routes = admin.RoutesOf(admin.New(*o))
	})
	roots := x509.NewCertPool()
	roots.AddCert(d.receiver.Certificate())
	engine, err := webhooks.Start(t.Context(), webhooks.Options{
		Store: d.Store, Guard: guard, Sealer: sealer, Roots: roots, Retry: []time.Duration{time.Millisecond},
		Price: int64(billing.WebhookAttempt), Registerer: prometheus.NewRegistry(), Now: time.Now, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, engine) })
	return d
}

// tenant is a workspace that is used over REST.
type tenant struct {
	d       *desk
	id, key string
	at      string // its address below /v1
}

// tenant makes a workspace with so many units that can be refunded.
func (d *desk) tenant(t *testing.T, label string, units int64) *tenant {
	t.Helper()
	made := d.call(t, "", "POST", "/v1/workspaces", `{"label":`+quoted(label)+`}`).is(t, 201)
	w := &tenant{d: d, id: made.text("workspace_id"), key: made.text("owner_key")}
	w.at = "/v1/workspaces/" + w.id
	if units > 0 {
		if err := d.Store.Credit(t.Context(), apitest.Operator, mustID(t, w.id), uuid.New(), units, true); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// page is an address of the workspace in the dashboard.
func (w *tenant) page(rest string) string { return w.d.url + "/admin/workspaces/" + w.id + rest }

// call makes a REST call with the owner's key. The path is below the workspace, or begins with /v1.
func (w *tenant) call(t *testing.T, method, path, body string) called {
	t.Helper()
	if !strings.HasPrefix(path, "/v1") {
		path = w.at + path
	}
	return w.d.call(t, w.key, method, path, body)
}

// balance is what the API says that the workspace has.
func (w *tenant) balance(t *testing.T) int64 {
	t.Helper()
	return apitest.Int(w.call(t, "GET", "", "").is(t, 200).body["deposit_balance"])
}

// askBack requests the balance back and gives the refund's id.
func (w *tenant) askBack(t *testing.T) string {
	t.Helper()
	return w.call(t, "POST", "/refunds", `{"network":"base","destination_address":"`+wallet+`"}`).is(t, 201).text("refund_id")
}

// refund is what the API says of the only refund.
func (w *tenant) refund(t *testing.T) map[string]any {
	t.Helper()
	return w.call(t, "GET", "/refunds", "").is(t, 200).body["result"].([]any)[0].(map[string]any)
}

// deposit pays a dollar with what the facilitator then answers, and gives the proof's answer and the payer.
func (w *tenant) deposit(t *testing.T, answer facilitatortest.Answer) called {
	t.Helper()
	w.d.bank.Facilitator.On("settle", answer)
	proof := w.d.bank.Proof(t, apitest.Base, billing.PerUSD).Encode()
	return w.call(t, "POST", "/deposits", `{"amount_usd":"1","payment_signature":`+quoted(proof)+`}`)
}

// called is the answer of a REST call.
type called struct {
	status int
	body   map[string]any
}

func (d *desk) call(t *testing.T, key, method, path, body string) called {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	c := called{status: answer.StatusCode}
	if len(text) > 0 {
		if c.body, err = apitest.Decode(text); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, c.status, text)
		}
	}
	return c
}

// is demands a status.
func (c called) is(t *testing.T, status int) called {
	t.Helper()
	if c.status != status {
		t.Fatalf("the API answers %d %v, want %d", c.status, c.body, status)
	}
	return c
}

func (c called) text(field string) string {
	s, _ := c.body[field].(string)
	return s
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return string(b)
}

// signIn opens a tab with a session of the role.
func (d *desk) signIn(t *testing.T, size browsertest.Size, role store.Role) *browsertest.Tab {
	t.Helper()
	return d.signInAs(t, size, person(role), password)
}

func (d *desk) signInAs(t *testing.T, size browsertest.Size, email, secret string) *browsertest.Tab {
	t.Helper()
	tab := browsertest.Open(t, size, browsertest.Light)
	tab.Go(d.url + "/admin/login")
	tab.Fill("#email", email)
	tab.Fill("#password", secret)
	tab.Submit("main button", "Sign in")
	tab.See("h1", "Overview")
	return tab
}

// look checks the page as it is now and keeps a picture of it.
func look(tab *browsertest.Tab, name string) {
	tab.Check()
	tab.Shot(name)
}

// lookTwice does so in both colour schemes.
func lookTwice(tab *browsertest.Tab, name string) {
	look(tab, name)
	tab.Prefer(browsertest.Dark)
	tab.Shot(name)
	tab.Prefer(browsertest.Light)
}

// refused sends a form that the service must send back, and looks at what it says beside the field.
func refused(tab *browsertest.Tab, button, field, says, name string) {
	tab.Expect("status of 422")
	tab.Submit("main button", button)
	tab.See("#"+field+"-fault", says)
	tab.Until("the field to be marked", `document.getElementById("`+field+`").getAttribute("aria-describedby") === "`+field+`-fault"`)
	look(tab, name)
}

// missing presses a button without what the form needs: the browser asks for it and sends nothing.
func missing(tab *browsertest.Tab, button, field string) {
	tab.Click("main button", button)
	tab.Until("the browser to ask for "+field, `document.activeElement.id === "`+field+`" && !document.activeElement.validity.valid`)
}

// TestDashboardInABrowser does everything that operators do by clicking, at both sizes, and looks at the API for the effect.
func TestDashboardInABrowser(t *testing.T) {
	d := newDesk(t)
	for _, size := range browsertest.Sizes {
		t.Run(size.Name, func(t *testing.T) {
			for _, act := range []struct {
				name string
				play func(*testing.T, *desk, browsertest.Size)
			}{
				{"sign in", signingIn}, {"block", blocking}, {"credit", crediting}, {"pay a refund", payingRefund}, {"reject a refund", rejectingRefund},
				{"two at once", twoAtOnce}, {"deposits", decidingDeposits}, {"search", searching}, {"feedback", triaging}, {"webhooks", mendingWebhook},
				{"operators", managingOperators}, {"account", changingAccount}, {"viewer", onlyLooking}, {"jobs", lookingAtJobs}, {"pages", allPages},
			} {
				t.Run(act.name, func(t *testing.T) { act.play(t, d, size) })
			}
		})
	}
}
