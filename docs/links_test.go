package docs_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced   = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```\\s*$")
	code     = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+?)\s*$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Links between documents lead to files and headings that are there.
func TestLinks(t *testing.T) {
	checked := 0
	for _, name := range sources(t) {
		if path.Ext(name) != ".md" || strings.Contains(name, "/testdata/") || strings.HasPrefix(name, "api/rest/pages") {
			continue
		}
		for _, target := range linksOf(read(t, name)) {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(target, "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			info, err := os.Stat("../" + to)
			if err != nil {
				t.Errorf("%s links to %s, which is not there", name, target)
			} else if anchor != "" && (info.IsDir() || !slices.Contains(anchorsOf(read(t, to)), anchor)) {
				t.Errorf("%s links to %s, and there is no such heading", name, target)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d links were found", checked)
	}
}

// Every document can be found from the index.
func TestIndexNamesEveryDocument(t *testing.T) {
	index := linksOf(read(t, "docs/README.md"))
	for _, name := range sources(t) {
		file, inside := strings.CutPrefix(name, "docs/")
		if !inside || path.Ext(file) != ".md" || file == "README.md" || strings.HasPrefix(file, "decisions/0") {
			continue
		}
		if !slices.ContainsFunc(index, func(target string) bool { to, _, _ := strings.Cut(target, "#"); return to == file }) {
			t.Errorf("docs/README.md does not name %s", file)
		}
	}
}

// linksOf are the targets of a document's links, those in code left out.
func linksOf(text string) (targets []string) {
	for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
		targets = append(targets, found[1])
	}
	return targets
}

// anchorsOf are the names that headings get: lower case, without punctuation, blanks as dashes; repeated ones are numbered.
func anchorsOf(text string) (anchors []string) {
	seen := map[string]int{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1")
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		if n := seen[anchor]; n > 0 {
			anchors = append(anchors, anchor+"-"+string(rune('0'+n)))
		} else {
			anchors = append(anchors, anchor)
		}
		seen[anchor]++
	}
	return anchors
}

func TestLinksAreRead(t *testing.T) {
	const text = "# A b, `c`!\n[x](y.md#z) `[no](no.md)`\n```\n# no\n[no](no.md)\n```\n## A [b](c.md)\n## A b\n[s](https://e.x)\n"
	if got := linksOf(text); !slices.Equal(got, []string{"y.md#z", "c.md", "https://e.x"}) {
		t.Errorf("links %q", got)
	}
	if got := anchorsOf(text); !slices.Equal(got, []string{"a-b-c", "a-b", "a-b-1"}) {
		t.Errorf("anchors %q", got)
	}
}
