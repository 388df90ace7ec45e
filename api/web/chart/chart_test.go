package chart

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestLinesAndBarsShowTheirNumbers(t *testing.T) {
	f := Figure{
		Title: "Calls a minute", Heads: "Minute", Labels: []string{"12:00", "12:01", "12:02"},
		Series: []Series{{"calls", Ints(1200, 0, 3400)}, {"refused", []float64{1, math.NaN(), 2.5}}},
	}
	for name, html := range map[string]template.HTML{"lines": f.Lines(), "bars": f.Bars()} {
		page := string(html)
		for _, want := range []string{
			`role="img"`, "<title>Calls a minute</title>", "<desc>calls: 0 to 3,400, last 3,400. refused: 1 to 2.5, last 2.5.</desc>",
			"<figcaption>Calls a minute</figcaption>", "<th scope=\"col\">Minute</th>", `<th scope="row">12:02</th><td class="num">3,400</td><td class="num">2.5</td>`,
			`<th scope="row">12:01</th><td class="num">0</td><td class="num">–</td>`, "<span>4k</span><span>2k</span><span>0</span>", "stroke1", "<details><summary>",
		} {
			if want == "stroke1" && name == "bars" {
				want = "fill1"
			}
			if !strings.Contains(page, want) {
				t.Errorf("%s lack %s:\n%s", name, want, page)
			}
		}
	}
	// The greatest value of 3,400 on a scale to 4,000 is 15 % below the top, which is 200 high.
	if !strings.Contains(string(f.Lines()), "L600 30") {
		t.Error(f.Lines())
	}
}

// Whatever there is to show, something sensible is shown.
func TestOddNumbers(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"none", nil, "No numbers yet."},
		{"one", []float64{5}, `d="M300 33.33 h0"`},
		{"equal", []float64{7, 7, 7}, "M0 25 L300 25 L600 25"},
		{"zeros", []float64{0, 0}, "M0 200 L600 200"},
		{"below zero", []float64{-1, 1}, "M0 100H600"},
		{"only gaps", []float64{math.NaN(), math.Inf(1)}, "x: no numbers."},
		{"huge", []float64{1, math.MaxFloat64, -math.MaxFloat64}, "1.798e&#43;308"},
		{"tiny", []float64{0, 5e-300}, "5e−300"},
	} {
		f := Figure{Title: c.name, Labels: make([]string, len(c.values)), Series: []Series{{"x", c.values}}}
		if page := string(f.Lines()); !strings.Contains(page, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, page)
		}
		for _, html := range []template.HTML{f.Lines(), f.Bars()} {
			check(t, html)
		}
	}
	short := Figure{Labels: []string{"a", "b"}, Series: []Series{{"less", []float64{1}}, {"more", []float64{1, 2, 3}}, {"none", nil}}}
	if page := string(short.Bars()); strings.Count(page, "<tr>") != 3 || !strings.Contains(page, `<th scope="row">b</th><td class="num">–</td><td class="num">2</td><td class="num">–</td>`) {
		t.Error(page)
	}
}

func TestRanks(t *testing.T) {
	page := string(Ranks("Spend", Rank{Name: "a</li>", Value: 1000, Note: "$0.01"}, Rank{Name: "b", Value: 250, Colour: 1}, Rank{Name: "c", Value: math.NaN()}, Rank{Name: "d", Value: -4}))
	for _, want := range []string{"a&lt;/li&gt;", "1,000", "$0.01", `class="fill0" width="1000"`, `class="fill1" width="250"`, `width="0"`, "−4"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if !strings.Contains(string(Ranks("Spend")), "No numbers yet.") {
		t.Error("nothing")
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", -1234567.8: "−1,234,567.8", 0.125: "0.125", 1.0 / 3: "0.333", 9007199254740: "9,007,199,254,740", 1e18: "1e+18", 0.0001: "0.0001",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 999: "999", 1500: "1.5k", -2e6: "−2M", 1e15: "1P"} {
		if got := Short(v); got != want {
			t.Errorf("Short(%v) = %q, want %q", v, got, want)
		}
	}
	for in, want := range map[string]string{"123456.00016": "123,456.00016", "-1000": "−1,000", "1": "1"} {
		if got := Grouped(in); got != want {
			t.Errorf("Grouped(%q) = %q, want %q", in, got, want)
		}
	}
}

// Any text and any numbers give well-formed markup with our own elements and attributes only, inside the plot.
func FuzzFigures(f *testing.F) {
	f.Add("title", "label", `"><img src=x onerror=alert(1)>`, 1.0, -5e300, uint8(3))
	f.Add("</title></svg><script>", "\x00\xff\u202e", "javascript:", math.Inf(-1), math.NaN(), uint8(0))
	f.Add("", "", "", 0.0, 1e-320, uint8(200))
	f.Fuzz(func(t *testing.T, title, label, name string, a, b float64, n uint8) {
		figure := Figure{Title: title, Heads: label}
		values := []float64{}
		for i := range int(n) {
			figure.Labels = append(figure.Labels, label+strconv.Itoa(i))
			values = append(values, []float64{a, b, a * float64(i), b / float64(i+1), float64(i)}[(i*7+len(name))%5])
		}
		figure.Series = []Series{{name, values}, {title, values[len(values)/2:]}}
		for _, html := range []template.HTML{figure.Lines(), figure.Bars(), Ranks(title, Rank{Name: name, Value: a, Note: label}, Rank{Name: label, Value: b})} {
			check(t, html)
		}
	})
}

var (
	elements   = strings.Fields("figure figcaption ul li svg title desc path rect div span details summary table thead tbody tr th td p")
	attributes = strings.Fields("class viewBox preserveAspectRatio role aria-hidden aria-label tabindex scope d x y width height open")
	number     = regexp.MustCompile(`-?[0-9.]+`)
)

func check(t *testing.T, html template.HTML) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader("<all>" + string(html) + "</all>"))
	decoder.Entity = xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, html)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local == "all" {
			continue
		}
		if !slices.Contains(elements, start.Name.Local) {
			t.Fatalf("a %s in\n%s", start.Name.Local, html)
		}
		for _, a := range start.Attr {
			if !slices.Contains(attributes, a.Name.Local) {
				t.Fatalf("%s=%q in\n%s", a.Name.Local, a.Value, html)
			}
			if !slices.Contains([]string{"d", "x", "y", "width", "height"}, a.Name.Local) {
				continue
			}
			for _, found := range number.FindAllString(a.Value, -1) {
				if v, err := strconv.ParseFloat(found, 64); err != nil || v < 0 || v > 1000 {
					t.Fatalf("%s: %v outside of the plot in\n%s", fmt.Sprint(a), found, html)
				}
			}
		}
	}
}
