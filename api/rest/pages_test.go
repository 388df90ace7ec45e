package rest_test

import (
	"fmt"
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/rest"
	"aanet/api/web"
)

// Pages load nothing from elsewhere and run nothing, so that a policy can forbid both.
func TestPagesStandAlone(t *testing.T) {
	s := start(t, nil)
	outside := regexp.MustCompile(`(?i)(src|href|action)\s*=\s*["']?(https?:)?//|<script|<style|\sstyle=|\son\w+=|@import|url\(`)
	links := regexp.MustCompile(`href="(/[^"#]*)"`)
	for _, path := range []string{"/", "/docs", "/pricing", "/status"} {
		page := s.call("GET", path, "", "Accept: text/html,*/*;q=0.8").is(200).has("Content-Type", "text/html; charset=utf-8")
		if policy := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if found := outside.FindString(page.body); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		for _, link := range links.FindAllStringSubmatch(page.body, -1) {
			s.call("GET", html.UnescapeString(link[1]), "").is(200)
		}
		if anchors(page.body) != "" {
			t.Errorf("%s links to %s, which is not on it", path, anchors(page.body))
		}
	}
	css := s.call("GET", web.Style.Path, "").has("Cache-Control", "public, max-age=31536000, immutable").is(200).has("Content-Type", "text/css; charset=utf-8")
	if found := outside.FindString(css.body); found != "" {
		t.Errorf("the style sheet has %q", found)
	}
}

// anchors gives the first link within a page that leads nowhere.
func anchors(page string) string {
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			return link[1]
		}
	}
	return ""
}

func TestPagesNameEveryOperationAndCode(t *testing.T) {
	s := start(t, nil)
	docs, agents, llms := s.call("GET", "/docs", "").is(200).body, s.call("GET", "/AGENTS.md", "").is(200).body, s.call("GET", "/llms.txt", "").is(200).body
	for _, op := range api.Operations() {
		if !strings.Contains(docs, op.Tool()) || !strings.Contains(docs, op.Method+" "+op.Path) {
			t.Errorf("/docs lacks %s", op.Name)
		}
		short := strings.NewReplacer("/v1/workspaces/{workspace_id}", "…", "...}", "}").Replace(op.Path)
		if !strings.Contains(agents, "`"+op.Name+"` "+op.Method+" "+short) {
			t.Errorf("/AGENTS.md lacks %s", op.Name)
		}
	}
	for code := range api.Codes() {
		if !strings.Contains(docs, string(code)) || !strings.Contains(agents, string(code)) {
			t.Errorf("a page lacks %s", code)
		}
	}
	for name, page := range map[string]string{"/docs": docs, "/AGENTS.md": agents, "/llms.txt": llms} {
		if !strings.Contains(page, "https://aanet.example/v1") || strings.Contains(page, "{{") || strings.Contains(page, "<no value>") {
			t.Errorf("%s is not filled in", name)
		}
	}
	if !strings.HasPrefix(llms, "# AANet\n\n> ") {
		t.Error("llms.txt does not begin with a title and a summary")
	}
	if got := s.call("GET", "/openapi.json", "").is(200).text("openapi"); got != "3.1.0" {
		t.Error(got)
	}
	if head := s.call("HEAD", "/docs", "").is(200); head.body != "" || head.header.Get("Content-Length") == "" {
		t.Error("HEAD of a page")
	}
}

// The prices on the page, in the JSON and over the API are one answer.
func TestPricingPage(t *testing.T) {
	s := start(t, nil)
	plain := s.call("GET", "/pricing", "").is(200).has("Content-Type", "application/json").has("X-AANet-Cost", "0")
	if listed := s.call("GET", "/v1/pricing", "").is(200); listed.body != plain.body {
		t.Errorf("/pricing is not /v1/pricing: %s", plain.body)
	}
	page := s.call("GET", "/pricing", "", "Accept: text/html").is(200).body
	for _, row := range []string{"<code>write_file</code></td><td>8</td><td>2</td>", "One unit is $0.00001", "1048576"} {
		if !strings.Contains(page, row) {
			t.Errorf("the page lacks %q", row)
		}
	}
	s.call("POST", "/pricing", "{}").refused(api.MethodNotAllowed)
}

// MCP clients look for OAuth after a 401; they must find none, and a sentence that people understand.
func TestNoOAuth(t *testing.T) {
	s := start(t, nil)
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
		"/.well-known/openid-configuration", "/authorize", "/favicon.ico",
	} {
		s.call("GET", path, "", "Accept: text/html").refused(api.NotFound)
	}
	sent := s.call("POST", "/register", `{"redirect_uris":[]}`).is(http.StatusBadRequest)
	if sent.text("error") != "invalid_client_metadata" || !strings.HasPrefix(sent.text("error_description"), "This server has no OAuth. Send your key as Authorization: Bearer ") {
		t.Error(sent.body)
	}
}

// What agents read costs them tokens, so it may not grow unnoticed. docs/clients.md tells how much it is.
func TestPagesForAgentsStayShort(t *testing.T) {
	s := start(t, func(o *rest.Options) { o.PublicURL = "http://127.0.0.1:8402" })
	told, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, most := range map[string]int{"/AGENTS.md": 7_500, "/llms.txt": 1_000} {
		n := len(s.call("GET", path, "").is(200).body)
		if n > most {
			t.Errorf("%s has %d bytes; %d are meant to be enough", path, n, most)
		}
		var said int
		if _, row, found := strings.Cut(string(told), "| `"+path+"` | "); found {
			_, err = fmt.Sscan(row, &said)
		}
		if err != nil || n*10 < said*9 || n*10 > said*11 {
			t.Errorf("%s has %d bytes, and docs/clients.md says %d: count its tokens anew", path, n, said)
		}
	}
}
