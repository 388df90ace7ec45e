// Package browsertest opens our pages in a real Chromium, for tests. All tests of a package share one browser, which Main
// starts and ends; each has a tab with cookies of its own:
//
//	func TestMain(m *testing.M) { browsertest.Main(m) }
//
//	func TestRefunds(t *testing.T) {
//		tab := browsertest.Open(t, browsertest.Desktop, browsertest.Light)
//		tab.Go(url + "/admin/refunds")
//		tab.Fill("#reason", "paid twice")
//		tab.Submit("button", "Reject")          // a click that loads a page
//		tab.See("main", "Refund rejected.")     // waits for it
//		tab.Check()                             // accessibility, contrast in both schemes, width
//		tab.Shot("refund-rejected")             // a screenshot among the artifacts of the test
//	}
//
// Whatever a page reports fails the test: an error on its console, an exception, a violation of its policy, a request to
// another host. Expect takes out what a test provokes. Nothing depends on speed: all waiting ends after patience only.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"aanet/deploy/programs"
)

// patience is how long anything may take on a machine that does ten other things.
const patience = 2 * time.Minute

// browser is the one of this test binary; it starts with the first tab.
var browser struct {
	sync.Mutex
	inMain bool
	ctx    context.Context
}

// Main runs the tests of a package and ends the browser. Call it from TestMain.
func Main(m *testing.M) {
	browser.inMain = true
	code := m.Run()
	if browser.ctx != nil {
		ctx, cancel := context.WithTimeout(browser.ctx, patience)
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the browser did not end well:", err)
		}
		cancel()
	}
	os.Exit(code)
}

// start gives the browser.
func start(t testing.TB) context.Context {
	t.Helper()
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		return browser.ctx
	}
	if !browser.inMain {
		t.Fatal("TestMain of this package must call browsertest.Main, which ends the browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(programs.Browser(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("mute-audio", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(patience),
	)
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	quiet := func(string, ...any) {}
	ctx, _ := chromedp.NewContext(allocator, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal("the browser does not start: ", err)
	}
	browser.ctx = ctx
	return ctx
}
