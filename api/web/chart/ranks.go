package chart

import "html/template"

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
func Ranks(title string, ranks ...Rank) template.HTML {
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
			bar.Number = Number(r.Value)
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
