package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strings"
)

const benchLogLevel = slog.LevelWarn

// benchResult is one line of the output. Latencies are milliseconds; a null means that it does not apply.
type benchResult struct {
	Name     string   `json:"name"`
	OpsPerS  *float64 `json:"ops_per_s"`
	P50      *float64 `json:"p50_ms"`
	P99      *float64 `json:"p99_ms"`
	Ratio    *float64 `json:"ratio"`
	Goal     *float64 `json:"goal"`
	Bound    string   `json:"bound,omitempty"` // at least, at most: of the ratio; p99 at most: milliseconds
	Met      *bool    `json:"met"`
	CPU      *cpuLine `json:"cpu,omitempty"`
	RestMiB  float64  `json:"rss_rest_mib,omitempty"`
	LoadMiB  float64  `json:"rss_load_mib,omitempty"`
	Settings any      `json:"settings,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// cpuLine is the CPU time of one call and how it divides.
type cpuLine struct {
	Micros   float64 `json:"us_per_call"`
	Service  float64 `json:"service_share"`
	Postgres float64 `json:"postgres_share"`
	Client   float64 `json:"client_share"`
}

const (
	atLeast = "at least"
	atMost  = "at most"
)

// resultOf makes the line of a figure.
func resultOf(name string, f figure) benchResult {
	r := benchResult{Name: name, OpsPerS: rounded(f.ops, 0), P50: rounded(f.p50, 3), P99: rounded(f.p99, 3)}
	if total := f.cpu.Service + f.cpu.Postgres + f.cpu.Client; total > 0 {
		r.CPU = &cpuLine{
			Micros: *rounded(total, 0), Service: *rounded(f.cpu.Service/total, 2),
			Postgres: *rounded(f.cpu.Postgres/total, 2), Client: *rounded(f.cpu.Client/total, 2),
		}
	}
	return r
}

// against adds how it compares and what was to be reached.
func (r benchResult) against(ratio float64, bound string, goal float64, note string) benchResult {
	met := ratio >= goal
	if bound == atMost {
		met = ratio <= goal
	}
	r.Ratio, r.Goal, r.Bound, r.Met, r.Note = rounded(ratio, 2), &goal, bound, &met, note
	return r
}

// within adds what the p99 must not exceed, in milliseconds.
func (r benchResult) within(goal float64, note string) benchResult {
	met := *r.P99 <= goal
	r.Goal, r.Bound, r.Met, r.Note = &goal, "p99 at most", &met, note
	return r
}

// compared adds how it compares where no goal is set.
func (r benchResult) compared(ratio float64, note string) benchResult {
	r.Ratio, r.Note = rounded(ratio, 2), note
	return r
}

func (r benchResult) noted(note string) benchResult {
	r.Note = note
	return r
}

func rounded(v float64, digits int) *float64 {
	scale := math.Pow10(digits)
	v = math.Round(v*scale) / scale
	return &v
}

// benchReport prints results as they come: a table, or one JSON object a line.
type benchReport struct {
	w          io.Writer
	json       bool
	headed     bool
	goals, met int
}

func (t *benchReport) add(results ...benchResult) error {
	for _, r := range results {
		if r.Met != nil {
			t.goals++
			if *r.Met {
				t.met++
			}
		}
		if err := t.print(r); err != nil {
			return err
		}
	}
	return nil
}

func (t *benchReport) print(r benchResult) error {
	if t.json {
		return json.NewEncoder(t.w).Encode(r)
	}
	if !t.headed {
		t.headed = true
		fmt.Fprintf(t.w, "%-26s %9s %9s %9s %7s %-15s %-4s %s\n", "name", "ops/s", "p50 ms", "p99 ms", "ratio", "goal", "met", "note")
	}
	goal, met := "", ""
	if r.Goal != nil {
		goal = fmt.Sprintf("%s %g", r.Bound, *r.Goal)
		met = map[bool]string{true: "yes", false: "NO"}[*r.Met]
	}
	_, err := fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf("%-26s %9s %9s %9s %7s %-15s %-4s %s",
		r.Name, cell(r.OpsPerS, 0), cell(r.P50, 2), cell(r.P99, 2), cell(r.Ratio, 2), goal, met, r.details()), " "))
	return err
}

// details is what the table has no column for.
func (r benchResult) details() string {
	var parts []string
	if r.Note != "" {
		parts = append(parts, r.Note)
	}
	if r.CPU != nil {
		cpu := fmt.Sprintf("CPU %.0f µs a call: service %.0f %%, Postgres %.0f %%", r.CPU.Micros, 100*r.CPU.Service, 100*r.CPU.Postgres)
		if r.CPU.Client > 0 {
			cpu += fmt.Sprintf(", client %.0f %%", 100*r.CPU.Client)
		}
		parts = append(parts, cpu)
	}
	return strings.Join(parts, "; ")
}

func cell(v *float64, digits int) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.*f", digits, *v)
}

func (t *benchReport) summary() error {
	if t.json || t.goals == 0 {
		return nil
	}
	_, err := fmt.Fprintf(t.w, "%d of %d goals met\n", t.met, t.goals)
	return err
}

// benchSettings are what of the server a figure depends on, and what makes it durable.
var benchSettings = []string{
	"server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_wal_size", "jit",
}

// describe prints the machine and the server's settings as the first line.
func (b *bench) describe(ctx context.Context) error {
	settings := map[string]string{}
	var text []string
	for _, name := range benchSettings {
		var value string
		if err := b.pool.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return fmt.Errorf("read the server's settings: %w", err)
		}
		settings[name] = value
		text = append(text, name+" "+value)
	}
	if settings["fsync"] != "on" || settings["synchronous_commit"] != "on" {
		return fmt.Errorf("the server is not durable: %v", settings)
	}
	length := ""
	if b.quick {
		length = "; QUICK: shorter runs and less data than the goals are meant for"
	}
	return b.report.add(benchResult{Name: "machine", Settings: settings, Note: fmt.Sprintf("%d CPUs, %s, %s/%s, %s; Postgres on %s: %s%s",
		runtime.NumCPU(), cpuModel(), runtime.GOOS, runtime.GOARCH, runtime.Version(), b.fileSystem(), strings.Join(text, ", "), length)})
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere than on Linux there is none
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), "unknown model")
}

// fileSystem is the kind of file system that holds the data, since one in memory makes every fsync free.
func (b *bench) fileSystem() string {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	kind, longest := "an unknown file system", -1
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		point := strings.TrimSuffix(fields[1], "/")
		if len(point) > longest && strings.HasPrefix(b.server.Dir+"/", point+"/") {
			kind, longest = fields[2], len(point)
		}
	}
	return kind
}
