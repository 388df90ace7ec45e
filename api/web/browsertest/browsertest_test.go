package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"aanet/api/web"
	"aanet/api/web/chart"
)

func TestMain(m *testing.M) { Main(m) }

const goodPage = `{{template "top" .Page}}<h1>Refunds</h1>
<p class="lede">What is owed, <a href="/next">oldest first</a>.</p>
<div class="flash bad" role="alert">Refused.</div> <div class="flash ok">Done</div> <div class="flash warn">Careful</div>
<div class="cards"><div class="card warn"><span class="label">Waiting</span><span class="figure">12,000</span><span class="note">oldest 3 h</span></div><a class="card" href="/next"><span class="label">Paid</span><span class="figure">3</span></a></div>
{{.Chart}}
<h2>Queue</h2>
<div class="scroll" role="region" aria-label="Queue" tabindex="0"><table><thead><tr><th scope="col">Id</th><th scope="col" class="num">Units</th><th scope="col">State</th></tr></thead>
<tbody><tr><td class="mono">0190b0d2-0000-7000-8000-000000000000</td><td class="num">1</td><td><span class="badge ok">paid</span> <span class="badge warn">waits</span> <span class="badge bad">failed</span> <span class="badge quiet">old</span></td></tr></tbody></table></div>
<form class="fields" action="/next"><p class="field"><label for="why">Reason</label> <input id="why" name="why" placeholder="such as paid twice" aria-describedby="hint"> <span class="hint" id="hint">Kept in the audit log.</span> <span class="fault">Must not be empty.</span></p>
<p class="field"><label for="kind">Kind</label> <select id="kind" name="kind"><option value="a">a</option><option value="b">b</option></select></p>
<p class="actions"><button class="primary">Pay</button> <button class="danger">Block</button> <button disabled>Not now</button> <a class="button" href="/next">Cancel</a></p></form>
{{template "bottom" .Page}}`

// serve answers / with the good page and any other path with what is given for it.
func serve(t *testing.T, others map[string]string) string {
	t.Helper()
	pages := web.Parse(fstest.MapFS{"good": {Data: []byte(goodPage)}}, "good")
	data := map[string]any{
		"Page":  web.Page{Title: "Refunds", Area: "operators", Nav: []web.Link{{Path: "/", Text: "Overview"}, {Path: "/r", Text: "Refunds", Count: 3}}, Here: "/r", User: "a@example.com", Logout: "/out"},
		"Chart": chart.Figure{Title: "Calls", Labels: []string{"1", "2"}, Series: []chart.Series{{Name: "a", Values: []float64{1, 2}}, {Name: "b", Values: []float64{2, 1}}}}.Lines(),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, a := range []web.Asset{web.Style, web.Mark} {
			if a.Is(r.URL.Path) {
				a.ServeHTTP(w, r)
				return
			}
		}
		if r.URL.Path == "/dim.css" {
			w.Header().Set("Content-Type", "text/css")
			_, _ = w.Write([]byte("a { outline: none }"))
			return
		}
		web.Protect(w.Header(), web.Live)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/" {
			if err := pages.ExecuteTemplate(w, "good", data); err != nil {
				t.Error(err)
			}
			return
		}
		text, ok := others[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			text = whole("<h1>Not here</h1>")
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A page made of our own parts has no fault, at any size.
func TestOurPartsAreAccessible(t *testing.T) {
	url := serve(t, map[string]string{"/next": whole("<h1>Next</h1>")})
	for _, size := range Sizes {
		tab := Open(t, size, Light)
		tab.Go(url)
		tab.Check()
		tab.Shot("parts")
		tab.Prefer(Dark)
		tab.Shot("parts")
		tab.Fill("#why", "paid twice")
		tab.Select("#kind", "b")
		tab.Submit("button", "Pay")
		if got := strings.TrimPrefix(tab.Address(), url); got != "/next?why=paid+twice&kind=b" {
			t.Error(got)
		}
		tab.See("h1", "Next")
		tab.Back()
		tab.See("h1", "Refunds")
		tab.Enter("#why")
		tab.See("h1", "Next")
	}
}

func whole(body string) string {
	return `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><link rel="icon" href="` + web.Mark.Path + `"><title>x</title></head><body><main>` + body + `</main></body></html>`
}

// Every check finds what it is for.
func TestChecksFindFaults(t *testing.T) {
	faults := map[string]string{
		whole("<h1>a</h1><h1>b</h1>"):                                 "2 h1",
		whole("<p>a</p>"):                                             "0 h1",
		whole("<h1>a</h1><h3>b</h3>"):                                 "after h1 comes",
		whole("<h1>a</h1><input name=q>"):                             "no label",
		whole("<h1>a</h1><button></button>"):                          "no name",
		whole("<h1>a</h1><a href='/next'><svg></svg></a>"):            "no name",
		whole("<h1>a</h1><svg width=9 height=9></svg>"):               "an image without a name",
		whole("<h1>a</h1><table><tr><td>1</table>"):                   "a table without headings",
		whole("<h1 id=a>a</h1><p id=a>b</p>"):                         "two elements with the id a",
		whole("<h1>a</h1><label for=zz>b</label>"):                    "for names zz",
		whole("<h1>a</h1><p><font color='#999999'>pale</font></p>"):   "contrast",
		whole("<h1>a</h1><table width=2000><tr><th>1</table>"):        "px too wide",
		whole("<h1>a</h1><a href='/a'>b</a><a href='/' tabindex=5>c"): "tabindex 5",
		strings.Replace(whole("<h1>a</h1><a href='/a'>b</a>"), "</head>", "<link rel=stylesheet href=/dim.css></head>", 1): "does not show the focus",
		whole("<h1>a</h1><p style='color:red'>b</p>"):                                                    "inline",
		"<html><link rel=icon href=" + web.Mark.Path + "><title>x</title><main><h1>a</h1></main></html>": "no lang",
	}
	others, n := map[string]string{}, 0
	for text := range faults {
		n++
		others["/"+strings.Repeat("x", n)] = text
	}
	url := serve(t, others)
	tab := Open(t, Phone, Light)
	tab.Expect("violates the following Content Security Policy")
	for path, text := range others {
		tab.Go(url + path)
		if got := strings.Join(tab.check(""), "\n"); !strings.Contains(got, faults[text]) {
			t.Errorf("%s\nhas %q, not %q", text, got, faults[text])
		}
	}
}

// What a page does that it must not is noticed.
func TestTabsNoticeFaults(t *testing.T) {
	url := serve(t, map[string]string{"/inline": whole("<h1>a</h1><script>1</script>"), "/style": whole("<h1 style='color:red'>a</h1>"), "/image": whole("<h1>a</h1><img alt=x src='https://example.org/x.png'>")})
	tab := Open(t, Desktop, Dark)
	for path, want := range map[string]string{"/inline": "Content Security Policy", "/style": "Content Security Policy", "/image": "Content Security Policy", "/absent": "status of 404"} {
		tab.Go(url + path)
		tab.notices(path, want)
	}
	for expression, want := range map[string]string{"(setTimeout(() => { throw new Error('thrown') }), true)": "thrown", "(console.error('said'), true)": "said"} {
		tab.Go(url + "/")
		Eval[bool](tab, expression)
		tab.notices(expression, want)
	}
	tab.Expect("status of 404")
	tab.Go(url + "/absent")
	requests := tab.Requests() // the last one may be for the icon
	if !slices.ContainsFunc(requests, func(r Request) bool { return r.URL == url+"/absent" }) || requests[0].Method != "GET" {
		t.Error(requests)
	}
}

// notices waits until the tab has noticed a fault: the browser tells of it when it comes to it.
func (tab *Tab) notices(what, want string) {
	tab.t.Helper()
	var got []string
	for deadline := time.Now().Add(patience); !strings.Contains(strings.Join(got, "\n"), want); {
		if time.Now().After(deadline) {
			tab.t.Errorf("%s: %q", what, got)
			return
		}
		Eval[bool](tab, "new Promise(done => setTimeout(() => done(true), 10))")
		got = append(got, tab.Faults()...)
	}
}

func TestShotsAreKept(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("AANET_TEST_ARTIFACTS", folder)
	tab := Open(t, Phone, Dark)
	tab.Go(serve(t, nil))
	tab.Shot("parts")
	picture, err := os.ReadFile(filepath.Join(folder, "TestShotsAreKept", "parts-phone-dark.png"))
	if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Error(err)
	}
	if len(tab.Cookies()) != 0 {
		t.Error("cookies")
	}
}
