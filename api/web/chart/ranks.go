package chart

import (
	"fmt"
	"html/template"
	"slices"
)

// Rank is one bar of Ranks.
type Rank struct {
	Name   string
	Value  float64
	Text   string // in place of the number, such as exact dollars
	Note   string // beside the number, such as a second unit
	Colour int    // 0 to 5
}

// Ranks draws bars that lie under each other, each with its name and number in words: for categories with names of any
// length. Values below zero count as zero. Nothing gives an empty list.
func Ranks(title string, write func(float64) string, ranks ...Rank) template.HTML {
	if write == nil {
		write = Number
	}
	data := struct {
		Title string
		Bars  []rankBar
	}{Title: clean(title)}
	most := 0.0
	for _, r := range ranks {
		if finite(r.Value) {
			most = max(most, r.Value)
		}
	}
	for _, r := range ranks {
		bar := rankBar{Name: clean(r.Name), Number: "–", Note: clean(r.Note), Width: "0", Colour: r.Colour % colours}
		if finite(r.Value) {
			bar.Number = write(r.Value)
		}
		if r.Text != "" {
			bar.Number = clean(r.Text)
		}
		if finite(r.Value) && r.Value > 0 {
			bar.Width = coordinate(max(1000*(r.Value/most), 1))
		}
		data.Bars = append(data.Bars, bar)
	}
	return execute("ranks", data)
}

type rankBar struct {
	Name, Number, Note, Width string
	Colour                    int
}

// Sparkline draws a row of numbers as a line the height of a word. Its name tells the first, the greatest and the last.
func Sparkline(title string, values []float64) template.HTML {
	f := Figure{Title: title, Labels: make([]string, len(values)), Series: []Series{{title, values}}}
	d := &drawing{figure: f}
	d.low, d.high = f.bounds()
	d.line(0, f.Series[0])
	known := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	d.Name = clean(title) + ": no numbers"
	if len(known) > 0 {
		d.Name = fmt.Sprintf("%s: first %s, greatest %s, last %s", clean(title), Number(known[0]), Number(slices.Max(known)), Number(known[len(known)-1]))
	}
	return execute("spark", d)
}
