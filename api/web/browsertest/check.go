package browsertest

import (
	"context"
	_ "embed"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

//go:embed check.js
var checks string

// focusMost is how many stops of the focus are walked to; all further ones are only looked at.
const focusMost = 40

// Check fails the test for what makes the page hard to use: fields, links, buttons or images without a name, headings out
// of order, contrast under 4.5:1 in either colour scheme, something that the keyboard does not reach in order or that
// does not show the focus, and text that needs scrolling sideways.
func (tab *Tab) Check() {
	tab.t.Helper()
	tab.CheckOf("")
}

// CheckOf is Check of only the part of a page that a selector names, where others made the rest.
func (tab *Tab) CheckOf(part string) {
	tab.t.Helper()
	for _, fault := range tab.check(part) {
		tab.t.Errorf("%s, %s: %s", tab.size.Name, Eval[string](tab, "location.pathname"), fault)
	}
}

// Glance is the part of Check that takes no time: what the page is made of, and that nothing is too wide.
func (tab *Tab) Glance() {
	tab.t.Helper()
	for _, fault := range Eval[[]string](tab, checks+`("").structure()`) {
		tab.t.Errorf("%s, %s: %s", tab.size.Name, Eval[string](tab, "location.pathname"), fault)
	}
}

func (tab *Tab) check(part string) (faults []string) {
	tab.t.Helper()
	of := checks + "(" + quote(part) + ")"
	faults = Eval[[]string](tab, of+".structure()")
	before := tab.scheme
	for _, scheme := range []Scheme{Light, Dark} {
		tab.Prefer(scheme)
		for _, fault := range Eval[[]string](tab, of+".contrast()") {
			faults = append(faults, string(scheme)+": "+fault)
		}
	}
	tab.Prefer(before)
	return append(faults, tab.walk(of)...)
}

// walk goes through the page with the tab key.
func (tab *Tab) walk(of string) []string {
	tab.t.Helper()
	stops := min(Eval[int](tab, of+".beginWalk()"), focusMost)
	for pressed := 0; pressed < 2*stops+10; pressed++ {
		tab.do("press the tab key", tabKey)
		if pressed+1 >= stops && Eval[bool](tab, "window.focusWalk.through || window.focusWalk.visited.size >= "+strconv.Itoa(stops)) {
			break
		}
	}
	return Eval[[]string](tab, of+".endWalk("+strconv.Itoa(focusMost)+")")
}

// tabKey is the part of the key's press that moves the focus; the others would take as long each.
var tabKey = chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
	_, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: 9})
	return err
})

// heightMost is where a screenshot of a long page ends.
const heightMost = 3500

// Shot takes a screenshot of the page, named for what it shows, the size and the colour scheme. It goes to the folder of
// AANET_TEST_ARTIFACTS, or else to that of the test's artifacts; when neither is kept, none is taken.
func (tab *Tab) Shot(name string) {
	tab.t.Helper()
	folder := os.Getenv("AANET_TEST_ARTIFACTS")
	switch keeps := flag.Lookup("test.artifacts"); {
	case folder != "":
		folder = filepath.Join(folder, strings.ReplaceAll(tab.t.Name(), "/", "-"))
	case keeps != nil && keeps.Value.String() == "true":
		folder = tab.t.ArtifactDir()
	default:
		return
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		tab.t.Fatal(err)
	}
	file := filepath.Join(folder, name+"-"+tab.size.Name+"-"+string(tab.scheme)+".png")
	if err := os.WriteFile(file, tab.picture(), 0o644); err != nil {
		tab.t.Fatal(err)
	}
}

// picture is the page from its beginning, scrolled to nowhere.
func (tab *Tab) picture() (png []byte) {
	tab.t.Helper()
	height := Eval[float64](tab, `window.scrollTo(0, 0), document.querySelectorAll(".scroll").forEach(e => e.scrollTo(0, 0)), document.documentElement.scrollHeight`)
	yes := true
	tab.do("take a screenshot", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		taken, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: &yes, OptimizeForSpeed: &yes,
			Clip: &page.Viewport{Width: float64(tab.size.Width), Height: min(max(height, float64(tab.size.Height)), heightMost), Scale: 1},
		})
		png = taken.Data
		return err
	}))
	return png
}
