// Package chart draws lines, bars and ranks as SVG with classes of the common stylesheet and no style
// attribute, so that they show under a policy without inline styles. Each has a name, a description and its numbers in a
// table. Numbers that are not finite are gaps; any text may stand in a label.
//
//	chart.Figure{Title: "Calls a minute", Heads: "Minute", Labels: minutes, Series: []chart.Series{{"calls", counts}}}.Lines()
package chart

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Figure is what a chart shows. Zero values are fine everywhere.
type Figure struct {
	Title  string
	Heads  string // over the labels in the table, such as "Hour"
	Labels []string
	Series []Series
}

// Series is one row of numbers, one for each label; missing ones are gaps.
type Series struct {
	Name   string
	Values []float64
}

// Ints makes the values of a series from integers.
func Ints[T ~int | ~int64](values ...T) []float64 {
	floats := make([]float64, len(values))
	for i, v := range values {
		floats[i] = float64(v)
	}
	return floats
}

const (
	width, height = 600.0, 200.0 // of a plot's own coordinates; it stretches to the place it has
	colours       = 6
	hitsMost      = 150  // beyond it a column for the mouse would be too narrow, and the page too long
	extreme       = 1e15 // beyond it the plot is cut off, as coordinates would lose their sense
)

//go:embed chart.html
var files embed.FS

var templates = template.Must(template.ParseFS(files, "chart.html"))

// Lines draws the series as lines over the labels, which are in order, such as times.
func (f Figure) Lines() template.HTML { return f.draw("lines", (*drawing).line) }

// Bars draws the series as bars that stand side by side over each label.
func (f Figure) Bars() template.HTML { return f.draw("bars", (*drawing).bars) }

// drawing is a figure with all that the template needs.
type drawing struct {
	Name, Desc, Heads string
	Legend            []mark
	Top, Middle, Foot string // of the scale
	Ends              []string
	Zero              string // where the line of zero is, when it is not at the foot
	Shapes            []shape
	Hits              []shape
	Rows              []row
	Columns           []string

	figure    Figure
	low, high float64
}

// mark is a series in the legend.
type mark struct {
	Colour int
	Name   string
}

// shape is a line (Path), an area (Area) or a box.
type shape struct {
	Colour              int
	Path, Area, Dots    string
	X, Y, Width, Height string
	Title               string
}

type row struct {
	Label string
	Cells []string
}

func (f Figure) draw(name string, shapes func(*drawing, int, Series)) template.HTML {
	d := &drawing{Name: clean(f.Title), Heads: clean(f.Heads), figure: f}
	d.low, d.high = f.bounds()
	d.Top, d.Middle, d.Foot = Short(d.high), Short((d.low+d.high)/2), Short(d.low)
	if d.low < 0 && d.high > 0 {
		d.Zero = coordinate(d.y(0))
	}
	for i, s := range f.Series {
		d.Legend = append(d.Legend, mark{i % colours, clean(s.Name)})
		d.Columns = append(d.Columns, clean(s.Name))
		shapes(d, i, s)
	}
	d.Ends = ends(f.Labels)
	d.Rows = f.rows()
	d.hits()
	d.Desc = f.summary()
	return execute(name, d)
}

func execute(name string, data any) template.HTML {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(fmt.Sprintf("chart %s: %v", name, err)) // only a template that does not fit its data
	}
	return template.HTML(b.String())
}

// bounds are round numbers around all values, with zero among them.
func (f Figure) bounds() (low, high float64) {
	for _, s := range f.Series {
		for _, v := range f.values(s) {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	low, high = 0-roundUp(-low), roundUp(high)
	if low == high {
		high = 1
	}
	return low, high
}

// values are those of a series that have a label.
func (f Figure) values(s Series) []float64 { return s.Values[:min(len(s.Values), len(f.Labels))] }

// roundUp gives the next number that reads well in halves; 0 stays 0.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 0
	}
	v = min(v, extreme)
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 4, 6, 8} {
		if v <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}

// x is the middle of a label's column; a line reaches from end to end instead.
func (d *drawing) x(i int) float64 {
	if n := len(d.figure.Labels); n > 1 {
		return width * float64(i) / float64(n-1)
	}
	return width / 2
}

func (d *drawing) y(v float64) float64 {
	v = min(max(v, d.low), d.high)
	return height * (d.high - v) / (d.high - d.low)
}

// line draws a series; gaps part it, and a value that stands alone becomes a dot.
func (d *drawing) line(i int, s Series) {
	path, area, dots := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	values := d.figure.values(s)
	foot := coordinate(d.y(0))
	for start := 0; start < len(values); {
		if !finite(values[start]) {
			start++
			continue
		}
		end := start
		for end < len(values) && finite(values[end]) {
			end++
		}
		first := coordinate(d.x(start)) + " " + coordinate(d.y(values[start]))
		if end == start+1 {
			fmt.Fprintf(dots, "M%s h0 ", first)
		} else {
			fmt.Fprintf(area, "M%s %s L%s ", coordinate(d.x(start)), foot, first)
			fmt.Fprintf(path, "M%s ", first)
			for j := start + 1; j < end; j++ {
				point := coordinate(d.x(j)) + " " + coordinate(d.y(values[j]))
				fmt.Fprintf(path, "L%s ", point)
				fmt.Fprintf(area, "L%s ", point)
			}
			fmt.Fprintf(area, "L%s %s Z ", coordinate(d.x(end-1)), foot)
		}
		start = end
	}
	line := shape{Colour: i % colours, Path: trim(path), Dots: trim(dots)}
	if len(d.figure.Series) == 1 {
		line.Area = trim(area)
	}
	d.Shapes = append(d.Shapes, line)
}

// bars draws a series as boxes, each a part of its label's column.
func (d *drawing) bars(i int, s Series) {
	column := width / float64(max(len(d.figure.Labels), 1))
	part := column * 0.8 / float64(len(d.figure.Series))
	for j, v := range d.figure.values(s) {
		if !finite(v) || v == 0 {
			continue
		}
		top, foot := d.y(max(v, 0)), d.y(min(v, 0))
		d.Shapes = append(d.Shapes, shape{
			Colour: i % colours, X: coordinate(column*(float64(j)+0.1) + part*float64(i)), Width: coordinate(part * 0.94),
			Y: coordinate(min(top, height-0.5)), Height: coordinate(max(foot-top, 0.5)),
		})
	}
}

// hits are columns that show their numbers when the mouse rests on them.
func (d *drawing) hits() {
	n := len(d.Rows)
	if n == 0 || n > hitsMost {
		return
	}
	for i, r := range d.Rows {
		title := r.Label
		for j, cell := range r.Cells {
			title += "\n" + d.Columns[j] + ": " + cell
		}
		d.Hits = append(d.Hits, shape{X: coordinate(width * float64(i) / float64(n)), Width: coordinate(width / float64(n)), Title: title})
	}
}

func (f Figure) rows() []row {
	rows := make([]row, len(f.Labels))
	for i, label := range f.Labels {
		rows[i].Label = clean(label)
		for _, s := range f.Series {
			cell := "–"
			if i < len(s.Values) && finite(s.Values[i]) {
				cell = Number(s.Values[i])
			}
			rows[i].Cells = append(rows[i].Cells, cell)
		}
	}
	return rows
}

// summary says in words what the picture shows: least, greatest and last of each series.
func (f Figure) summary() string {
	var parts []string
	for _, s := range f.Series {
		values := slices.DeleteFunc(slices.Clone(f.values(s)), func(v float64) bool { return !finite(v) })
		if len(values) == 0 {
			parts = append(parts, clean(s.Name)+": no numbers.")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %s to %s, last %s.", clean(s.Name),
			Number(slices.Min(values)), Number(slices.Max(values)), Number(values[len(values)-1])))
	}
	return strings.Join(parts, " ")
}

// ends are the labels that stand under the plot: the first, the middle and the last.
func ends(labels []string) []string {
	n := len(labels)
	var shown []string
	for i, label := range labels {
		if i == 0 || i == n-1 || n%2 == 1 && i == n/2 {
			shown = append(shown, clean(label))
		}
	}
	return shown
}

// clean replaces what no document can hold or what would hide text: control characters, and those that turn the direction.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xFFFE || r == 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

func trim(b *strings.Builder) string { return strings.TrimSpace(b.String()) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
