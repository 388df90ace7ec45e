package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api/web/browsertest"
)

// The window is small enough to be read by the owner who pastes a key into it, and can write no markup.
func TestWindowScriptIsSmall(t *testing.T) {
	script, err := os.ReadFile("window.js")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(script), "\n"); lines > 500 || lines < 100 {
		t.Errorf("%d lines", lines)
	}
	for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage", "sessionStorage", "indexedDB", "document.cookie", "import("} {
		if strings.Contains(string(script), word) {
			t.Error(word)
		}
	}
}

// markup is text of a tenant that must show as text.
const markup = `"><img src=x onerror=alert(1)></td><script>alert(2)</script>`

// swarm is four agents with keys of their own.
type swarm struct {
	s      *service
	agents []agentKey
}

type agentKey struct{ id, key, label string }

func newSwarm(s *service) *swarm {
	w := &swarm{s: s}
	for _, label := range []string{"planner", "writer", "reviewer", markup} {
		made := s.call("POST", s.at("/subkeys"), fmt.Sprintf(`{"label":%q}`, label)).is(201)
		w.agents = append(w.agents, agentKey{made.text("subkey_id"), made.text("key"), label})
	}
	return w
}

func (w *swarm) as(agent int) string { return "Authorization: Bearer " + w.agents[agent].key }

// work is one round of each agent: a lock that it keeps, a file, a message, and a lock that it gives back.
func (w *swarm) work(round int) {
	s := w.s
	for i, a := range w.agents {
		task := url.PathEscape(fmt.Sprintf("task %d of %s", round, a.label))
		s.call("PUT", s.at("/locks/"+task), `{"lease_seconds":3600}`, w.as(i)).is(200)
		s.call("PUT", s.at("/files/jobs/"+task), fmt.Sprintf(`{"content":"round %d\n<h1>%s</h1>"}`, round, strings.ReplaceAll(markup, `"`, `\"`)), w.as(i))
		s.call("POST", s.at("/messages"), fmt.Sprintf(`{"body":"round %d is done, says %s","topic":"<b>done</b>"}`, round, strings.ReplaceAll(a.label, `"`, `\"`)), w.as(i)).is(201)
	}
}

// The owner pastes the key, watches four agents live, reads a file, and mints and revokes keys.
func TestOwnersWindow(t *testing.T) {
	for _, size := range browsertest.Sizes {
		t.Run(size.Name, func(t *testing.T) {
			s := start(t, nil)
			w := newSwarm(s)
			w.work(1)
			tab := browsertest.Open(t, size, browsertest.Light)
			tab.Expect("status of 503") // on a machine that is busy elsewhere; the page then waits
			tab.Go(s.url + "/w")
			tab.Check()
			shots(tab, "enter")
			tab.Fill("#key", s.owner)
			tab.Click("button", "Watch")
			tab.See("#state", "live")
			tab.See("#messages", "round 1 is done, says planner")
			w.work(2)
			for _, a := range w.agents {
				tab.See("#locks tr", "task 2 of "+a.label)
				tab.See("#messages li", "round 2 is done, says "+a.label)
				tab.See("#activity tr", "task 2 of "+a.label)
				tab.See("#keys", a.label)
			}
			tab.See("#held", "8")
			tab.Until("leases that run down", `/\d+ min \d+ s/.test(document.getElementById("locks").innerText)`)
			s.call("DELETE", s.at("/locks/"+url.PathEscape("task 1 of writer")), "", w.as(1)).is(200)
			tab.Gone("#locks tr", "task 1 of writer")
			readFiles(tab)
			tab.Check()
			shots(tab, "watch")
			mintAndRevoke(t, s, w, tab)
			for _, a := range w.agents {
				tab.See("#spend", a.label)
			}
			showsNoMarkup(t, tab)
			countsWhatItCosts(t, s, tab)
			keepsNoKey(t, tab, s.owner)
			tab.Click("#leave", "")
			tab.See("#notice", "The key was forgotten.")
			if text := browsertest.Eval[string](tab, "document.body.textContent"); strings.Contains(text, "round 2") || strings.Contains(text, s.workspace) {
				t.Error("something of the workspace stayed on the page")
			}
		})
	}
}

func shots(tab *browsertest.Tab, name string) {
	for _, scheme := range []browsertest.Scheme{browsertest.Dark, browsertest.Light} {
		tab.Prefer(scheme)
		tab.Shot(name)
	}
}

func readFiles(tab *browsertest.Tab) {
	tab.Click("#entries button", "jobs/")
	tab.See("#path", "/jobs")
	tab.Click("#entries button", "task 2 of planner")
	tab.See("#content", "round 2\n<h1>"+markup+"</h1>")
	tab.Click("#up", "")
	tab.See("#entries", "task 1 of writer")
}

func mintAndRevoke(t *testing.T, s *service, w *swarm, tab *browsertest.Tab) {
	t.Helper()
	tab.Expect("status of 422")
	tab.Fill("#mint-label", "fifth")
	tab.Fill("#mint-scope", "jobs")
	tab.Fill("#mint-cap", "many")
	tab.Click("#mint button", "Mint")
	tab.See("#mint-fault", "budget_cap must be an integer")
	tab.Fill("#mint-cap", "50")
	tab.Click("#mint button", "Mint")
	tab.See("#minted", "shown this once")
	minted := browsertest.Eval[string](tab, `document.getElementById("new-key").value`)
	me := s.call("GET", "/v1/balance", "", "Authorization: Bearer "+minted).is(200)
	if !strings.Contains(me.body, `"remaining":50,`) || !strings.Contains(me.body, `"path_scope_prefix":"jobs"`) {
		t.Error(me.body)
	}
	tab.Click("#copy", "")
	tab.Until("an answer of the button", `["Copied", "Press Ctrl+C"].includes(document.getElementById("copy").textContent)`)
	tab.Check()
	shots(tab, "minted")
	tab.Click("#minted-done", "")
	if browsertest.Eval[bool](tab, fmt.Sprintf(`[...document.querySelectorAll("input")].some(i => i.value.includes(%q))`, minted)) {
		t.Error("the new key stayed on the page")
	}
	tab.See("#keys tr", "fifth")
	tab.Click("#keys tr button[aria-label='Revoke writer']", "")
	tab.See("#confirm", "“writer” stops working at once")
	shots(tab, "confirm")
	tab.Click("#confirm-no", "")
	s.call("GET", "/v1/balance", "", w.as(1)).is(200)
	tab.Click("#keys tr button[aria-label='Revoke writer']", "")
	tab.Click("#confirm-yes", "")
	tab.See("#notice", "“writer” is revoked. Free again: task 2 of writer.")
	s.call("GET", "/v1/balance", "", w.as(1)).is(401)
	tab.See("#keys tr", "revoked")
}

// countsWhatItCosts holds the page's own count against the log: in this workspace the owner pays for nothing else. A call that
// was under way when the page was told to pause may have been charged without an answer, one in each of its loops.
func countsWhatItCosts(t *testing.T, s *service, tab *browsertest.Tab) {
	t.Helper()
	tab.Click("#pause", "Pause")
	tab.See("#state", "paused")
	counted := browsertest.Eval[float64](tab, `Number(document.getElementById("watching").textContent)`)
	charged := 0.0
	for _, sum := range s.call("GET", s.at("/activity/summary?group_by=subkey"), "").is(200).json["result"].([]any) {
		if row := sum.(map[string]any); row["subkey_id"] == nil {
			charged = row["total_cost"].(float64)
		}
	}
	if counted < 5 || counted > charged || charged > counted+4 {
		t.Errorf("counted %v, charged %v", counted, charged)
	}
}

// showsNoMarkup holds that nothing of what tenants wrote became an element.
func showsNoMarkup(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	if n := browsertest.Eval[int](tab, `document.querySelectorAll("main img, main script, main h1 *, main b, #content *").length`); n != 0 {
		t.Errorf("%d elements of a tenant's", n)
	}
	if n := browsertest.Eval[int](tab, `document.querySelectorAll("h1").length`); n != 1 {
		t.Errorf("%d headings", n)
	}
}

// keepsNoKey holds that the key is in no store of the browser, no address and no element.
func keepsNoKey(t *testing.T, tab *browsertest.Tab, key string) {
	t.Helper()
	kept := browsertest.Eval[string](tab, `(async () => JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, history.state, name,
		(await indexedDB.databases()).length, (await caches.keys()).length]))()`)
	if kept != `[0,0,"",null,"",0,0]` {
		t.Errorf("kept: %s", kept)
	}
	if browsertest.Eval[bool](tab, fmt.Sprintf(`document.documentElement.outerHTML.includes(%q) || [...document.querySelectorAll("input")].some(i => i.value.includes(%[1]q))`, key)) {
		t.Error("the key is on the page")
	}
	sent := 0
	for _, r := range tab.Requests() {
		if strings.Contains(r.URL, "aan_") || strings.Contains(r.Headers["Referer"], "aan_") || r.Headers["Cookie"] != "" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Headers)
		}
		if r.Headers["Authorization"] == "Bearer "+key {
			sent++
		}
	}
	if sent == 0 || len(tab.Cookies()) != 0 {
		t.Error("the key was sent otherwise")
	}
}

// front is a proxy before the service that can be cut off.
type front struct {
	url  string
	mode atomic.Value // "", "cut" or "busy"
}

func newFront(t *testing.T, s *service) *front {
	t.Helper()
	f := &front{}
	f.mode.Store("")
	back, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(back)
	proxy.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f.mode.Load() {
		case "cut":
			panic(http.ErrAbortHandler)
		case "busy":
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"status":429,"code":"RATE_LIMITED","detail":"Too many."}`, http.StatusTooManyRequests)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	f.url = server.URL
	return f
}

// The window rests while it is hidden, and goes on where it was after that and after any trouble.
func TestOwnersWindowThroughTrouble(t *testing.T) {
	s := start(t, nil)
	f := newFront(t, s)
	w := newSwarm(s)
	tab := browsertest.Open(t, browsertest.Desktop, browsertest.Light)
	for _, expected := range []string{"net::ERR_", "status of 429", "status of 401", "status of 503"} {
		tab.Expect(expected)
	}
	tab.Go(f.url + "/w")
	tab.Fill("#key", "aan_o123")
	tab.Click("button", "Watch")
	tab.See("#notice", "This is no key")
	tab.Fill("#key", strings.Replace(s.owner, s.owner[70:], "aaaaaaa", 1))
	tab.Click("button", "Watch")
	tab.See("#notice", "This key does not work")
	tab.Fill("#key", s.owner)
	tab.Click("button", "Watch")
	tab.See("#state", "live")
	w.work(1)
	tab.See("#activity tr", "task 1 of planner")

	hide := func(hidden bool) {
		browsertest.Eval[bool](tab, fmt.Sprintf(`(Object.defineProperty(document, "hidden", {value: %v, configurable: true}), document.dispatchEvent(new Event("visibilitychange")))`, hidden))
	}
	hide(true)
	tab.See("#state", "rests while hidden")
	await(t, "the stream to end", func() bool { return s.store.Waiting() == 0 })
	w.work(2)
	hide(false)
	tab.See("#state", "live")
	tab.See("#activity tr", "task 2 of planner")
	tab.See("#messages li", "round 2 is done, says reviewer")
	resumed := false
	for _, r := range tab.Requests() {
		resumed = resumed || strings.HasSuffix(r.URL, "/events") && r.Headers["Last-Event-ID"] != ""
	}
	if !resumed {
		t.Error("the stream did not go on where it was")
	}

	f.mode.Store("busy")
	tab.See("#state", "too many calls, waits")
	f.mode.Store("cut")
	tab.See("#state", "no connection")
	w.work(3)
	f.mode.Store("")
	tab.See("#state", "live")
	tab.See("#activity tr", "task 3 of reviewer")
	tab.See("#messages li", "round 3 is done, says writer")

	tab.Click("#pause", "Pause")
	tab.See("#state", "paused")
	tab.Click("#pause", "Go on")
	tab.See("#state", "live")
	tab.Reload()
	tab.See("#open", "Watch")
	if got := browsertest.Eval[string](tab, `document.getElementById("key").value`); got != "" {
		t.Errorf("after a reload the page knows %q", got)
	}
}

// An agent's key shows what that key may see, and says what the owner's would show; it ends when it is revoked or spent.
func TestAgentInTheWindow(t *testing.T) {
	s := start(t, nil)
	mint := func(body string) agentKey {
		made := s.call("POST", s.at("/subkeys"), body).is(201)
		return agentKey{made.text("subkey_id"), made.text("key"), ""}
	}
	scoped, poor := mint(`{"label":"scoped <img src=x onerror=alert(3)>","path_scope_prefix":"in/side"}`), mint(`{"label":"poor","budget_cap":1}`)
	tab := browsertest.Open(t, browsertest.Phone, browsertest.Dark)
	for _, expected := range []string{"status of 401", "status of 402", "status of 404", "status of 503"} {
		tab.Expect(expected)
	}
	tab.Go(s.url + "/w")
	tab.Fill("#key", scoped.key)
	tab.Click("button", "Watch")
	tab.See("#notice", "This is the key of an agent, “scoped <img src=x onerror=alert(3)>”")
	tab.See("h1", "scoped <img src=x onerror=alert(3)>")
	tab.See("#notice", "in/side")
	tab.See("#entries", "Nothing is here.")
	tab.See("#state", "live")
	s.call("PUT", s.at("/files/out/secret"), `{"content":"x"}`).is(201)
	s.call("PUT", s.at("/files/in/side/seen"), `{"content":"x"}`).is(201)
	tab.See("#activity tr", "in/side/seen")
	tab.See("#changed", "changed since")
	tab.Gone("#activity tr", "out/secret")
	if tab.Count(".owner") != 0 {
		t.Error("parts for the owner are shown")
	}
	tab.Check()
	shots(tab, "agent")
	showsNoMarkup(t, tab)
	s.call("DELETE", s.at("/subkeys/"+scoped.id), "").is(200)
	tab.See("#notice", "This key does not work")
	tab.Fill("#key", poor.key)
	tab.Click("button", "Watch")
	tab.See("#notice", "There is no money left to watch with")
	tab.Check()
}

// await waits for what another goroutine does.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("waited in vain for ", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
