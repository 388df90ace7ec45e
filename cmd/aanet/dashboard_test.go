package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"aanet/store/storetest"
)

// A real process serves the dashboard to an operator, with River's own pages for its jobs, and to nobody else.
func TestDashboardOfAProcess(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	if out, err := typed(t, []string{"DATABASE_URL=" + dsn}, "a long password", "operator", "create", "--email", "a@aanet.example", "--password-stdin"); err != nil {
		t.Fatal(out, err)
	}
	p := serving(t, dsn)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	get := func(path string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html, application/json")
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if status, _ := get("/admin/jobs/api/queues"); status != http.StatusUnauthorized {
		t.Errorf("the jobs without a session: %d", status)
	}
	form := strings.NewReader(url.Values{"email": {"a@aanet.example"}, "password": {"a long password"}}.Encode())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/admin/login", form)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if status, body := get("/admin"); status != http.StatusOK || !strings.Contains(body, "<h1>Overview</h1>") {
		t.Errorf("the first page: %d\n%s", status, body)
	}
	eventually(t, "River to know its queue", func() bool {
		status, body := get("/admin/jobs/api/queues")
		return status == http.StatusOK && strings.Contains(body, "maintenance")
	})
	if status, body := get("/admin/jobs/"); status != http.StatusOK || !strings.Contains(body, "/admin/jobs/assets/") {
		t.Errorf("River's page: %d\n%s", status, body)
	}
	if !strings.Contains(p.metrics(t), `operation="dashboard"`) {
		t.Error("the metrics do not count the dashboard")
	}

	off := serving(t, dsn, "AANET_ADMIN=off")
	if r := ask(t, off.url, "GET", "/admin", "", ""); r.status != http.StatusNotFound {
		t.Errorf("turned off it answers %d", r.status)
	}
}
