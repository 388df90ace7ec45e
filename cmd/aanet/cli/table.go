package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"aanet/api/client"
	"aanet/billing"
)

// table prints rows in columns; the first row is the heads.
func table(w io.Writer, rows [][]string) {
	var b bytes.Buffer
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = shown(cell)
		}
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	_ = columns.Flush() // to memory
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// shown makes a text of somebody else safe for a terminal: control characters, which could move the cursor or worse, and
// what is no UTF-8 are written as escapes.
func shown(text string) string {
	safe := func(r rune) bool { return r != utf8.RuneError && (unicode.IsPrint(r) || r == ' ') }
	if !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if safe(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// The ways in which values stand in tables.

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func momentOr(t *time.Time, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return moment(*t)
}

func textOr(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int64) string {
	digits, negative := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	from := len(digits) % 3
	parts := []string{}
	if from > 0 {
		parts = append(parts, digits[:from])
	}
	for ; from < len(digits); from += 3 {
		parts = append(parts, digits[from:from+3])
	}
	if negative {
		return "-" + strings.Join(parts, ",")
	}
	return strings.Join(parts, ",")
}

// units writes an amount as units and dollars.
func units(n int64) string { return grouped(n) + " units ($" + billing.Units(n).USD() + ")" }

func unitsOr(n *int64, otherwise string) string {
	if n == nil {
		return otherwise
	}
	return grouped(*n)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// show prints an answer: as the service gave it with --json, else for people.
func show[T any](c *call, ask func(client.CallOption) (T, error), people func(T)) error {
	var raw json.RawMessage
	out, err := ask(client.WithRaw(&raw))
	if err != nil {
		return err
	}
	if !c.on("json") {
		people(out)
		return nil
	}
	_, err = fmt.Fprintf(c.Stdout, "%s\n", raw)
	return err
}

// showList prints a list: a line of JSON for each item, or a table.
func showList[T any](c *call, ask func(client.CallOption) ([]T, error), heads []string, row func(T) []string) error {
	var raw json.RawMessage
	items, err := ask(client.WithRaw(&raw))
	if err != nil {
		return err
	}
	if c.on("json") {
		var list struct {
			Result []json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("the answer: %w", err)
		}
		for _, item := range list.Result {
			if _, err := fmt.Fprintf(c.Stdout, "%s\n", item); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{heads}
	for _, item := range items {
		rows = append(rows, row(item))
	}
	table(c.Stdout, rows)
	return nil
}

// line prints one object as the service writes it.
func (c *call) line(object any) error {
	stamp := jsonv2.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error {
		return e.WriteToken(jsontext.String(t.UTC().Format("2006-01-02T15:04:05.000000Z")))
	})
	text, err := jsonv2.Marshal(object, jsonv2.WithMarshalers(stamp))
	if err != nil {
		return fmt.Errorf("JSON: %w", err)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s\n", text)
	return err
}

// say prints a line for people.
func (c *call) say(format string, args ...any) { fmt.Fprintf(c.Stdout, format+"\n", args...) }

// note prints a line beside the answer, which a script does not read.
func (c *call) note(format string, args ...any) { fmt.Fprintf(c.Stderr, format+"\n", args...) }
