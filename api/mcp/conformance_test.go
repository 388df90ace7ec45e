//go:build conformance

package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"aanet/deploy/programs"
)

// TestConformance runs the official suite against the doors as the service puts them together, with the tools that the
// suite calls added to our own by the build tag. Its verdict is the suite's: what fails and is not in
// testdata/conformance fails here, and so does what is there and passes.
func TestConformance(t *testing.T) {
	node, folder := programs.Node24(t), programs.Packages(t, "mcp-clients", os.DirFS("testdata/node"))
	expected, err := filepath.Abs("testdata/conformance/expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.serveBothDoors("127.0.0.1") // the suite comes with another host, too, which must be refused
	for _, run := range []struct {
		version, what string
		arguments     []string
	}{
		{"0.1.16", "active suite, 2025-11-25", []string{"--expected-failures", expected}},
		{"0.2.0-alpha.12", "`--spec-version 2025-11-25`", []string{"--spec-version", "2025-11-25", "--expected-failures", expected}},
		{"0.2.0-alpha.12", "`--requirements 2026-07-28`", []string{"--requirements", "2026-07-28"}},
	} {
		t.Run(run.version+" "+run.what, func(t *testing.T) {
			program := filepath.Join(folder, "node_modules", "conformance-"+run.version[:3], "dist", "index.js")
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			suite := exec.CommandContext(ctx, node, append([]string{program, "server", "--url", w.url, "-o", t.TempDir()}, run.arguments...)...)
			out, err := suite.CombinedOutput()
			text := string(out)
			if _, after, found := strings.Cut(text, "=== SUMMARY ==="); found {
				text = after
			}
			total := regexp.MustCompile(`Total: (\d+) passed, (\d+) failed`).FindStringSubmatch(text)
			if err != nil || total == nil {
				t.Fatalf("%v\n%s", err, text)
			}
			row := "| " + run.version + " | " + run.what + " | " + total[1] + " | " + total[2] + " |"
			if !strings.Contains(string(doc), row) {
				t.Errorf("docs/mcp.md has not the row %s", row)
			}
		})
	}
}
