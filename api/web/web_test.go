package web

import (
	"bytes"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"aanet/billing"
)

// A file may be kept for ever under the name of its content, and only under that.
func TestAssets(t *testing.T) {
	if !regexp.MustCompile(`^/assets/style\.[0-9a-f]{16}\.css$`).MatchString(Style.Path) {
		t.Error(Style.Path)
	}
	for path, kept := range map[string]string{Style.Path: "public, max-age=31536000, immutable", "/assets/style.0123456789abcdef.css": "no-cache"} {
		w := httptest.NewRecorder()
		Style.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Header(); got.Get("Cache-Control") != kept || got.Get("Content-Type") != "text/css; charset=utf-8" || !bytes.Equal(w.Body.Bytes(), Style.Body) || !Style.Is(path) {
			t.Error(path, got)
		}
	}
	for _, other := range []string{"/assets/style.css", "/assets/style.x/y.css", "/assets/style.a.b.css", Mark.Path, ""} {
		if Style.Is(other) {
			t.Error(other)
		}
	}
	w := httptest.NewRecorder()
	Mark.ServeHTTP(w, httptest.NewRequest(http.MethodHead, Mark.Path, nil))
	if w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Error("HEAD", w.Header())
	}
}

func TestPoliciesAllowNothingInline(t *testing.T) {
	for _, p := range []Policy{Still, Forms, Live, LiveForms} {
		h := http.Header{}
		Protect(h, p)
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s lacks %s", policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "data:") {
			t.Error(policy)
		}
	}
}

// The page of every text colour on every ground it stands on, in both schemes.
func TestContrast(t *testing.T) {
	text := string(styleText)
	light := colours(text[:strings.Index(text, "@media (prefers-color-scheme")])
	dark := colours(text[strings.Index(text, "@media (prefers-color-scheme"):strings.Index(text, "* { box-sizing")])
	if len(light) < 20 || len(dark) < 20 {
		t.Fatal(light, dark)
	}
	for scheme, c := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, pair := range []string{
			"ink paper", "ink sheet", "ink sunk", "ink tint", "ink good-tint", "ink warn-tint", "ink bad-tint", "soft paper", "soft sheet", "soft sunk", "soft tint", "accent paper", "accent sheet",
			"accent sunk", "accent tint", "on-accent accent", "on-bad bad", "good good-tint", "good sheet", "warn warn-tint", "warn sheet", "bad bad-tint", "bad sheet", "bad paper",
		} {
			front, ground, _ := strings.Cut(pair, " ")
			if ratio := contrast(t, c[front], c[ground]); ratio < 4.5 {
				t.Errorf("%s: %s on %s is %.2f:1", scheme, front, ground, ratio)
			}
		}
		for _, series := range []string{"c0", "c1", "c2", "c3", "c4", "c5"} {
			if ratio := contrast(t, c[series], c["sheet"]); ratio < 3 {
				t.Errorf("%s: %s is %.2f:1", scheme, series, ratio)
			}
		}
	}
	if regexp.MustCompile(`@import|url\(|https?:`).MatchString(text) {
		t.Error("the stylesheet loads something")
	}
}

func colours(css string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// contrast is the ratio of WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(colour string) float64 {
		var sum float64
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			if len(colour) != 7 {
				t.Fatalf("no colour: %q", colour)
			}
			v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(v) / 255
			if c <= 0.04045 {
				sum += weight * c / 12.92
			} else {
				sum += weight * math.Pow((c+0.055)/1.055, 2.4)
			}
		}
		return sum
	}
	la, lb := light(a), light(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestFrame(t *testing.T) {
	pages := Parse(fstest.MapFS{"x.html": {Data: []byte(`{{template "top" .Page}}<h1>{{number .N}} {{usd .N}} {{when .At}} {{when .Nil}} {{span .For}} {{bytes .N}}</h1>{{template "bottom" .Page}}`)}}, "x.html")
	var b bytes.Buffer
	var never *time.Time
	err := pages.ExecuteTemplate(&b, "x.html", map[string]any{
		"Page": Page{Title: "<b>", Area: "operators", Nav: []Link{{Path: "/a", Text: "A"}, {"/b", "B&", 1200, "failing"}}, Here: "/b", User: "<i>@example", Logout: "/out", Script: "/s.js"},
		"N":    billing.Units(1_234_567), "At": time.Date(2026, 11, 30, 12, 0, 0, 5000, time.UTC), "Nil": never, "For": 90 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		`<html lang="en">`, "<title>&lt;b&gt; · AANet</title>", Style.Path, Mark.Path, `<a class="skip" href="#main">`, `<a href="/b" aria-current="page">B&amp; <span class="count">1,200<span class="hidden"> failing</span></span></a>`,
		`<form class="session" method="post" action="/out">`, "&lt;i&gt;@example", `<script src="/s.js" defer></script>`, `<main id="main" tabindex="-1">`,
		`<h1>1,234,567 $12.34567 <time datetime="2026-11-30T12:00:00Z">2026-11-30 12:00:00</time> <span class="muted">never</span> 1 h 30 min 1.2 MiB</h1>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}
