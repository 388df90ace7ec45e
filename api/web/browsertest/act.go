package browsertest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// quote writes a string for an expression.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return string(b)
}

// find is an expression for the first visible element of a selector that shows a text; any text with "".
func find(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.checkVisibility({visibilityProperty: true}) && (e.innerText + " " + (e.value || "") + " " + (e.ariaLabel || "")).includes(%s))`,
		quote(selector), quote(text))
}

// See waits until an element of the selector shows a text.
func (tab *Tab) See(selector, text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("%q in %s", text, selector), find(selector, text))
}

// Gone waits until no element of the selector shows a text any more.
func (tab *Tab) Gone(selector, text string) {
	tab.t.Helper()
	tab.Until(fmt.Sprintf("%q to leave %s", text, selector), "!("+find(selector, text)+")")
}

// Text is what the first element of a selector shows.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	tab.See(selector, "")
	return Eval[string](tab, find(selector, "")+".innerText")
}

// Count is how many elements of a selector are visible.
func (tab *Tab) Count(selector string) int {
	tab.t.Helper()
	return Eval[int](tab, fmt.Sprintf(`[...document.querySelectorAll(%s)].filter(e => e.checkVisibility({visibilityProperty: true})).length`, quote(selector)))
}

// Click clicks with the mouse in the middle of (the first line of) the first visible element of a selector that shows a text. It waits until
// nothing else lies over it. A page that moves may slip away under the mouse: a click that hit something else is made again.
func (tab *Tab) Click(selector, text string) {
	tab.t.Helper()
	element := find(selector, text)
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		tab.Until(fmt.Sprintf("%s with %q to be free for a click", selector, text), fmt.Sprintf(`(() => {
			const e = %s
			if (!e || e.disabled) return false
			e.scrollIntoView({block: "center", behavior: "instant"})
			const b = e.getClientRects()[0], top = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)
			if (!top || !e.contains(top) && !top.contains(e)) return false
			window.clickAt = [b.x + b.width / 2, b.y + b.height / 2]
			window.clickMissed = false
			addEventListener("click", c => { window.clickMissed = !(%[1]s)?.contains(c.target) }, {capture: true, once: true})
			return true
		})()`, element))
		place := Eval[[]float64](tab, "window.clickAt")
		tab.do("click", chromedp.MouseClickXY(place[0], place[1]))
		if missed, err := tryEval[bool](tab, "!!window.clickMissed"); err != nil || !missed { // an error: the page is left already
			return
		}
	}
	tab.t.Fatalf("%s: %s with %q slips away from every click", tab.size.Name, selector, text)
}

// Submit clicks like Click and waits for the page that this loads.
func (tab *Tab) Submit(selector, text string) {
	tab.t.Helper()
	tab.leave(func() { tab.Click(selector, text) })
}

// Enter presses the key in a field and waits for the page that this loads.
func (tab *Tab) Enter(field string) {
	tab.t.Helper()
	tab.leave(func() {
		Eval[bool](tab, fmt.Sprintf("(document.querySelector(%s).focus(), true)", quote(field)))
		tab.Press("\r")
	})
}

func (tab *Tab) leave(act func()) {
	tab.t.Helper()
	tab.left++ // a page that the browser kept, and shows again, has the number of an earlier time
	Eval[bool](tab, fmt.Sprintf("(window.timesLeft = %d, true)", tab.left))
	act()
	tab.Until("the next page", fmt.Sprintf(`window.timesLeft !== %d && document.readyState === "complete"`, tab.left))
}

// Fill puts a text into a field as typing does, in place of what it holds.
func (tab *Tab) Fill(field, text string) {
	tab.t.Helper()
	tab.See(field, "")
	Eval[bool](tab, fmt.Sprintf(`(() => { const f = document.querySelector(%s); f.focus(); f.select(); return true })()`, quote(field)))
	if text == "" {
		tab.Press("\b")
		return
	}
	tab.do("type", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// Select chooses an option of a <select> by its value.
func (tab *Tab) Select(field, value string) {
	tab.t.Helper()
	tab.Until("the option "+value, fmt.Sprintf(`(() => {
		const f = document.querySelector(%s)
		if (!f || ![...f.options].some(o => o.value === %s)) return false
		f.value = %[2]s
		f.dispatchEvent(new Event("input", {bubbles: true}))
		f.dispatchEvent(new Event("change", {bubbles: true}))
		return true
	})()`, quote(field), quote(value)))
}

// Press presses keys where the focus is: "\t", "\r" or text.
func (tab *Tab) Press(keys string) {
	tab.t.Helper()
	tab.do("press a key", chromedp.KeyEvent(keys))
}
