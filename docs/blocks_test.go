package docs_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"aanet/docs/snippets"
)

// The code in documents is in fenced blocks of a kind that TestDocuments in cmd/aanet knows what to do with. This much can
// be told without a service; docs/changing-aanet.md has the rules.
func TestBlocksOfDocuments(t *testing.T) {
	known := []string{"sh", "console", "json", "yaml", "toml", "go", "ts", "python", "text"}
	found := 0
	for _, name := range sources(t) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") || path.Ext(name) != ".md" {
			continue
		}
		blocks, err := snippets.Find(read(t, name))
		if err != nil {
			t.Errorf("%s: %v: put it between fences, such as ```sh", name, err)
		}
		for _, b := range blocks {
			found++
			if !slices.Contains(known, b.Language) && b.Excuse() == "" {
				t.Errorf("%s:%d: a block of %q; the kinds are %v", name, b.Line, b.Language, known)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d blocks were found", found)
	}
}
