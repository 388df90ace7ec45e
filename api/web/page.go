package web

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"reflect"
	"time"

	"aanet/api/web/chart"
	"aanet/billing"
)

//go:embed frame.html
var frame embed.FS

// Page is what the frame shows around a page.
type Page struct {
	Title   string // of the window, before the name of the service
	Area    string // beside the name, such as "operators"; empty on public pages
	Home    string // where the name leads; empty: "/"
	Nav     []Link
	Here    string // the Path of the link in Nav that this page belongs to
	Script  string // the Path of the page's script, if it has one: see Live
	User    string // who is signed in; empty: nobody
	Account string // where the name leads; empty: nowhere
	Logout  string // where the form that signs out posts to
	Token   string // that form's proof that it is ours; empty: it has none
}

// Link is one of a page's main links. A Count above 0 is shown beside it: how many wait there.
type Link struct {
	Path, Text string
	Count      int64
	Counted    string // what those are, for who hears the page: "failing"
}

// Style and Mark are the addresses of the stylesheet and the icon, for the frame.
func (Page) Style() string { return Style.Path }

// Mark is the address of the icon.
func (Page) Mark() string { return Mark.Path }

// Funcs are what templates of pages can use beside the frame:
//
//	number 1234567      1,234,567
//	usd .Units          $12.34567, exact
//	when .Time          a <time> in UTC to the second; "never" for nil and zero
//	span .Duration      3 h 12 min
//	bytes 1536          1.5 KiB
//	grouped "1234.50"   1,234.50
var Funcs = template.FuncMap{"number": Number, "usd": USD, "when": When, "span": Span, "bytes": Bytes, "grouped": chart.Grouped}

// Parse reads templates and joins them with the frame. It panics on one that does not fit: every start and every test
// finds that.
func Parse(files fs.FS, patterns ...string) *template.Template {
	t := template.Must(template.New("").Funcs(Funcs).ParseFS(frame, "frame.html"))
	return template.Must(t.ParseFS(files, patterns...))
}

// Number writes any integer or float with separators; nil pointers are a dash.
func Number(n any) string {
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "–"
		}
		v = v.Elem()
	}
	switch {
	case v.CanInt():
		return chart.Grouped(fmt.Sprint(v.Int()))
	case v.CanUint():
		return chart.Grouped(fmt.Sprint(v.Uint()))
	case v.CanFloat():
		return chart.Number(v.Float())
	}
	return fmt.Sprint(n)
}

// USD writes units as exact dollars.
func USD(n any) string {
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "–"
		}
		v = v.Elem()
	}
	if v.Int() < 0 {
		return "−$" + chart.Grouped(billing.Units(-v.Int()).USD())
	}
	return "$" + chart.Grouped(billing.Units(v.Int()).USD())
}

// When shows an instant, given as time.Time or *time.Time, in UTC.
func When(at any) template.HTML {
	t, ok := at.(time.Time)
	if p, isPointer := at.(*time.Time); isPointer && p != nil {
		t, ok = *p, true
	}
	if !ok || t.IsZero() {
		return `<span class="muted">never</span>`
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2006-01-02 15:04:05") + `</time>`)
}

// Span writes a duration by its two greatest parts.
func Span(d time.Duration) string {
	if d < 0 {
		return "−" + Span(-d)
	}
	day := 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
}

// Bytes writes a size.
func Bytes(n any) string {
	v := reflect.ValueOf(n).Int()
	switch {
	case v < 1<<10:
		return fmt.Sprintf("%d B", v)
	case v < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(v)/(1<<10))
	case v < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(v)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(v)/(1<<30))
}
