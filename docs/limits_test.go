package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"aanet/api"
)

var update = flag.Bool("update", false, "write the tables of docs/guides/limits.md anew")

// The tables of docs/guides/limits.md are those of the program.
func TestLimitsAreReal(t *testing.T) {
	const file = "docs/guides/limits.md"
	text := read(t, file)
	for name, table := range map[string]string{"inputs": inputsTable(), "rates": ratesTable(), "sizes": sizesTable()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
		before, rest, found := strings.Cut(text, begin)
		there, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no table of %s", file, name)
		}
		if there != table {
			if !*update {
				t.Errorf("the table of %s in %s is stale: run go test ./docs -run Limits -update\n%s", name, file, table)
			}
			text = before + begin + table + end + after
		}
	}
	if *update {
		if err := os.WriteFile("../"+file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inputsTable has every input with bounds, and where it is one.
func inputsTable() string {
	rows, order := map[string][]string{}, []string{}
	for _, op := range api.Operations() {
		for _, f := range op.In.Fields {
			bounds := ""
			switch {
			case f.Min != nil && f.Max != nil:
				bounds = fmt.Sprintf("%s to %s", grouped(*f.Min), grouped(*f.Max))
			case f.MaxLen > 0:
				bounds = fmt.Sprintf("up to %s characters", grouped(int64(f.MaxLen)))
			default:
				continue
			}
			if f.Default != "" {
				bounds += ", without it " + f.Default
			}
			row := fmt.Sprintf("| `%s` | %s |", f.Name, bounds)
			if rows[row] == nil {
				order = append(order, row)
			}
			rows[row] = append(rows[row], "`"+op.Name+"`")
		}
	}
	var b strings.Builder
	b.WriteString("| input | may be | of |\n|---|---|---|\n")
	for _, row := range order {
		fmt.Fprintf(&b, "%s %s |\n", row, strings.Join(rows[row], ", "))
	}
	return b.String()
}

func sizesTable() string {
	return fmt.Sprintf("| | |\n|---|---|\n| a file | %s bytes of UTF-8 |\n| a request body | %s bytes |\n| all headers of a request | %s bytes |\n| sub-keys of a workspace, revoked ones included | %s |\n",
		grouped(api.FileBytesMax), grouped(api.BodyBytesMax), grouped(api.HeaderBytesMax), grouped(api.SubkeysMax))
}

func ratesTable() string {
	l := api.DefaultLimits()
	var b strings.Builder
	b.WriteString("| limit | default | |\n|---|---|---|\n")
	for _, row := range []struct {
		name   string
		value  float64
		counts string
	}{
		{"trial_per_hour", l.TrialPerHour, "new trial workspaces for one client address"},
		{"create_per_hour", l.CreatePerHour, "new workspaces for one client address"},
		{"key_rate", l.KeyRate, "calls a second of one key"},
		{"key_burst", float64(l.KeyBurst), "calls of one key at once after a pause"},
		{"key_bytes_rate", l.KeyBytesRate, "body bytes a second of one key"},
		{"key_bytes_burst", float64(l.KeyBytesBurst), "body bytes of one key at once after a pause"},
		{"failed_keys_per_minute", l.FailedKeysPerMinute, "calls with a bad key from one address"},
		{"refusal_rows_rate", l.RefusalRowsRate, "refusals a second that one workspace's log takes"},
		{"refusal_rows_burst", l.RefusalRowsBurst, "refusals that it takes at once after a pause"},
	} {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.name, grouped(int64(row.value)), row.counts)
	}
	return b.String()
}

// grouped writes a number as people read it.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
