package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Size is that of a window in pixels of CSS.
type Size struct {
	Name          string
	Width, Height int64
	phone         bool
}

// The sizes that every page is looked at in.
var (
	Desktop = Size{"desktop", 1280, 800, false}
	Phone   = Size{"phone", 390, 844, true}
	Sizes   = []Size{Desktop, Phone}
)

// Scheme is the colour scheme that the reader prefers.
type Scheme string

// The colour schemes.
const (
	Light Scheme = "light"
	Dark  Scheme = "dark"
)

// Tab is a page that is open in the browser.
type Tab struct {
	t      testing.TB
	ctx    context.Context
	size   Size
	scheme Scheme
	left   int

	mu       sync.Mutex
	faults   []string
	expected []string
	hosts    []string
	requests []Request
}

// Request is one that a page sent.
type Request struct {
	Method, URL string
	Headers     map[string]string
}

// Open opens an empty tab. When the test ends it is closed, and what went wrong in it fails the test.
func Open(t testing.TB, size Size, scheme Scheme) *Tab {
	t.Helper()
	tab := &Tab{t: t, size: size, scheme: scheme}
	ctx, closeTab := chromedp.NewContext(start(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(tab.listen))
	tab.ctx = ctx
	t.Cleanup(func() {
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[int]("1")); err != nil { // what was reported before has arrived then
			t.Errorf("the tab is gone: %v", err)
		}
		closeTab()
		for _, fault := range tab.Faults() {
			t.Errorf("%s: %s", size.Name, fault)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal("no tab: ", err)
	}
	mobile := func(metrics *emulation.SetDeviceMetricsOverrideParams, touch *emulation.SetTouchEmulationEnabledParams) {
		metrics.Mobile, touch.Enabled = size.phone, size.phone
	}
	tab.do("size the window", chromedp.EmulateViewport(size.Width, size.Height, mobile))
	tab.Prefer(scheme)
	return tab
}

// Prefer changes the colour scheme that the reader prefers.
func (tab *Tab) Prefer(scheme Scheme) {
	tab.t.Helper()
	tab.scheme = scheme
	tab.do("choose a colour scheme", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: string(scheme)}},
		})
		return err
	}))
}

// listen gathers what the page reports.
func (tab *Tab) listen(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			tab.fault("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		tab.fault("exception: %s (%s:%d)", text, d.URL, d.LineNumber+1)
	case *runtime.EventConsoleAPICalled:
		if slices.Contains([]runtime.ConsoleAPICalledType{"error", "warning", "assert"}, e.Type) {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			tab.fault("console: %s", strings.Join(words, " "))
		}
	case *network.EventRequestWillBeSent:
		sent := Request{Method: e.Request.Method, URL: e.Request.URL + e.Request.URLFragment, Headers: map[string]string{}}
		for name, value := range e.Request.Headers {
			sent.Headers[name] = fmt.Sprint(value)
		}
		tab.requests = append(tab.requests, sent)
		if u, err := url.Parse(e.Request.URL); err != nil || !slices.Contains(tab.hosts, u.Host) {
			tab.fault("a request to %s", e.Request.URL)
		}
	}
}

// fault notes what went wrong, once. The caller holds the lock.
func (tab *Tab) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	expected := slices.ContainsFunc(tab.expected, func(part string) bool { return strings.Contains(text, part) })
	if !expected && !slices.Contains(tab.faults, text) {
		tab.faults = append(tab.faults, text)
	}
}

// Expect takes what holds this text, such as "status of 401", for no fault from now on.
func (tab *Tab) Expect(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.expected = append(tab.expected, text)
}

// Faults gives what went wrong so far and forgets it.
func (tab *Tab) Faults() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	faults := tab.faults
	tab.faults = nil
	return faults
}

// Requests are all that the tab sent so far.
func (tab *Tab) Requests() []Request {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.requests)
}

// Cookies are those of the page that is open.
func (tab *Tab) Cookies() []*network.Cookie {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Action[network.GetCookiesResult](func(ctx context.Context, _ *chromedp.Target) (network.GetCookiesResult, error) {
		return chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{})
	}))
	if err != nil {
		tab.t.Fatal("cookies: ", err)
	}
	return got.Cookies
}

// do runs steps, or ends the test.
func (tab *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		tab.t.Fatalf("%s: %s: %v", tab.size.Name, what, err)
	}
}

// Go opens an address and waits until it is loaded.
func (tab *Tab) Go(address string) {
	tab.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tab.t.Fatal(err)
	}
	tab.mu.Lock()
	tab.hosts = append(tab.hosts, u.Host)
	tab.mu.Unlock()
	tab.do("open "+address, chromedp.Navigate(address))
}

// Reload loads the page again.
func (tab *Tab) Reload() {
	tab.t.Helper()
	tab.do("reload", chromedp.Reload())
}

// Back goes back in the tab's history.
func (tab *Tab) Back() {
	tab.t.Helper()
	tab.leave(func() { Eval[bool](tab, "(history.back(), true)") })
}

// Address is where the tab is.
func (tab *Tab) Address() string {
	tab.t.Helper()
	return Eval[string](tab, "location.href")
}

// Eval gives the value of an expression in the page. It works under any policy.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	value, err := tryEval[T](tab, expression)
	if err != nil {
		tab.t.Fatalf("%s: %s: %v", tab.size.Name, expression, err)
	}
	return value
}

func tryEval[T any](tab *Tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Until waits for an expression in the page to be true.
func (tab *Tab) Until(what, expression string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for {
		done, err := tryEval[bool](tab, "!!("+expression+")") // fails while a page gives way to the next
		if err == nil && done {
			return
		}
		select {
		case <-ctx.Done():
			tab.Shot("waited-in-vain")
			text, _ := tryEval[string](tab, "document.body.innerText")
			tab.t.Fatalf("%s: waited in vain for %s (%v); the page is\n%s", tab.size.Name, what, err, text)
		case <-time.After(25 * time.Millisecond):
		}
	}
}
