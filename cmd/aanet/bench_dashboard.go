package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"aanet/api/admin"
	"aanet/api/operators"
	"aanet/store"
)

const (
	dashboardGoal   = 300 // milliseconds, the median of each page
	dashboardVisits = 40  // of each page
	dashboardFound  = "01930000-0000-7000-8000-"
)

// dashboard is section j: the operators' pages beside a large amount of data, over HTTP, logged in.
func (b *bench) dashboard(ctx context.Context) (err error) {
	d, forget, err := b.freshDatabase(ctx, "dashboard")
	if err != nil {
		return err
	}
	defer forget()
	if err := d.fillDashboard(ctx); err != nil {
		return err
	}
	location, err := withDatabase(b.url, "dashboard")
	if err != nil {
		return err
	}
	s, err := b.startService(ctx, "DATABASE_URL="+location)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	v, err := d.visitor(ctx, s.url)
	if err != nil {
		return err
	}
	if err := d.measureOverview(ctx); err != nil {
		return err
	}
	for _, p := range dashboardPages(b.rows(b.many)) {
		f, err := v.measure(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		met, goal := f.p50 <= dashboardGoal, float64(dashboardGoal)
		r := resultOf("page_"+p.name, f).noted(p.about)
		r.Goal, r.Bound, r.Met = &goal, "p50 at most", &met
		if err := b.report.add(r); err != nil {
			return err
		}
	}
	return nil
}

// measureOverview tells how long the numbers of the overview take, which the page computes once for all who look at it.
func (d *benchDatabase) measureOverview(ctx context.Context) error {
	var latencies []time.Duration
	began := time.Now()
	for range dashboardVisits {
		asked := time.Now()
		if _, err := d.store.Overview(ctx); err != nil {
			return err
		}
		latencies = append(latencies, time.Since(asked))
	}
	return d.bench.report.add(resultOf("overview_numbers", figureOf(latencies, time.Since(began))).noted("the numbers of the overview, each time anew"))
}

// benchPage is a page and what it shows; the n-th visit may ask for another workspace than the one before.
type benchPage struct {
	name, about string
	path        func(n int) string
}

// dashboardPages are all lists and pages that read much. Visits go to workspaces all over the table.
func dashboardPages(workspaces int) []benchPage {
	always := func(path string) func(int) string { return func(int) string { return admin.Root + path } }
	number := func(n int) int { return 2 + n*7919%(workspaces-2) }
	id := func(kind string, i int) string { return fmt.Sprintf("%s%s%08x", dashboardFound, kind, i) }
	small := func(part string) func(int) string {
		return func(n int) string { return admin.Root + "/workspaces/" + id("0000", number(n)) + part }
	}
	large := func(part string) func(int) string { return always("/workspaces/" + id("0000", 1) + part) }
	search := func(text func(n int) string) func(int) string {
		return func(n int) string { return admin.Root + "/search?q=" + url.QueryEscape(text(n)) }
	}
	webhook := func(n int) int { return (number(n)/20)*20 + 10 } // of those whose host few have
	return []benchPage{
		{"overview", "everything at a glance; the numbers of five seconds", always("")},
		{"workspaces_newest", "50 of all workspaces", always("/workspaces")},
		{"workspaces_balance", "by balance", always("/workspaces?order=balance")},
		{"workspaces_active", "by the calls of a day", always("/workspaces?order=active")},
		{"workspaces_blocked", "the few that are blocked", always("/workspaces?order=blocked")},
		{"search_workspace", "by id", search(func(n int) string { return id("0000", number(n)) })},
		{"search_subkey", "by id; here many have the same", search(func(n int) string { return id("0001", 4+n) })},
		{"search_last4", "by a key's last four characters", search(func(n int) string { return fmt.Sprintf("%04x", number(n)%65536) })},
		{"search_tx", "by a transaction", search(func(n int) string { return fmt.Sprintf("0x%064x", number(n)) })},
		{"search_address", "by an address", search(func(n int) string { return fmt.Sprintf("0x%040x", number(n)%90000) })},
		{"search_host", "by a webhook's host", search(func(n int) string { return fmt.Sprintf("hooks%d.example", webhook(n)%5000) })},
		{"search_host_frequent", "by a host that half of the webhooks have", search(func(int) string { return "hooks.example" })},
		{"search_label", "by how a label begins", search(func(n int) string { return fmt.Sprintf("workspace %d", number(n)%100) })},
		{"search_nothing", "what is nowhere", search(func(n int) string { return fmt.Sprintf("no such thing %d", n) })},
		{"workspace", "a small workspace and its balance over 90 days", small("?range=quarter")},
		{"workspace_large", "one with a million log rows, 10,000 keys and 50,000 files", large("?range=quarter")},
		{"activity", "the log of the large one", large("/activity")},
		{"activity_rare", "a filter that nothing in the log fits", large("/activity?operation=NOTHING")},
		{"keys", "keys of the large one", large("/keys")},
		{"files", "its directories", large("/files")},
		{"locks", "its 5,000 locks", large("/locks")},
		{"webhooks", "webhooks of a small one", small("/webhooks")},
		{"money", "deposits, refunds and adjustments of a small one", small("/money")},
		{"refunds", "those that wait", always("/refunds")},
		{"deposits", "those that are open", always("/deposits")},
		{"webhooks_failing", "of all workspaces", always("/webhooks")},
		{"feedback", "by pledge", always("/feedback")},
		{"audit", "what operators did", always("/audit")},
		{"prices", "no data at all: the floor", always("/prices")},
	}
}

// visitor is a browser that is logged in.
type visitor struct {
	client http.Client
	url    string
}

// visitor makes an operator and logs in as one does.
func (d *benchDatabase) visitor(ctx context.Context, address string) (*visitor, error) {
	people, password := operators.New(d.store, time.Now), rand.Text()
	_, err := people.Create(ctx, store.Act{By: "cli:bench", Reason: "to measure"}, operators.NewOperator{
		Email: "bench@localhost", Name: "Bench", Role: store.RoleAdmin, Password: password,
	})
	if err != nil {
		return nil, fmt.Errorf("make an operator: %w", err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{client: http.Client{Jar: jar, Timeout: time.Minute}, url: address}
	form := url.Values{"email": {"bench@localhost"}, "password": {password}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+admin.Root+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v, v.do(r)
}

// do sends a request and reads the answer, which must be a page for somebody who is logged in.
func (v *visitor) do(r *http.Request) error {
	answer, err := v.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "Sign out") {
		return fmt.Errorf("%s: %s", r.URL.Path, answer.Status)
	}
	return nil
}

// measure visits a page again and again, one visit after the other.
func (v *visitor) measure(ctx context.Context, p benchPage) (figure, error) {
	var latencies []time.Duration
	began := time.Now()
	for n := range dashboardVisits {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+p.path(n), nil)
		if err != nil {
			return figure{}, err
		}
		sent := time.Now()
		if err := v.do(r); err != nil {
			return figure{}, err
		}
		latencies = append(latencies, time.Since(sent))
	}
	return figureOf(latencies, time.Since(began)), nil
}
