package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v2"

	"aanet/deploy/programs"
	"aanet/docs/snippets"
	"aanet/store/storetest"
)

// repository is the root of the sources.
var repository, _ = filepath.Abs(filepath.Join("..", ".."))

// excusedMost is the share of all snippets that may say that they cannot be run here.
const excusedMost = 0.2

// TestDocuments runs every snippet of every document at a service of its own: a document is one session in one shell, from
// its first block to its last. docs/changing-aanet.md has the rules that documents keep.
func TestDocuments(t *testing.T) {
	t.Parallel()
	programs.Shell(t, "curl", "jq", "openssl", "sed", "make")
	all := tally{lock: new(sync.Mutex)}
	t.Run("each", func(t *testing.T) {
		for _, name := range documents(t) {
			t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(filepath.Join(repository, name))
				if err != nil {
					t.Fatal(err)
				}
				runDocument(t, name, string(text), &all)
			})
		}
		t.Run("AGENTS.md as served", func(t *testing.T) {
			t.Parallel()
			p := serving(t, storetest.Database(t))
			runDocument(t, "AGENTS.md", must(t, p.url, "GET", "/AGENTS.md", "", "").text, &all)
		})
	})
	t.Logf("%d snippets in %d documents: %d run, %d checked without running (data, programs that are only compiled, dry runs of make), %d excused",
		all.run+all.checked+all.excused, all.documents, all.run, all.checked, all.excused)
	if float64(all.excused) > excusedMost*float64(all.run+all.checked+all.excused) {
		t.Errorf("%d snippets are excused: find a way to run them", all.excused)
	}
	if all.run == 0 {
		t.Error("nothing was run")
	}
}

// tally counts snippets.
type tally struct {
	lock                             *sync.Mutex
	documents, run, checked, excused int
}

func (c *tally) add(t tally) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.documents, c.run, c.checked, c.excused = c.documents+t.documents, c.run+t.run, c.checked+t.checked, c.excused+t.excused
}

// documents are the Markdown files for people.
func documents(t *testing.T) (names []string) {
	t.Helper()
	names = append(names, "README.md")
	err := filepath.WalkDir(filepath.Join(repository, "docs"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".md") {
			relative, _ := filepath.Rel(repository, name) // both absolute
			names = append(names, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// runDocument checks what can be checked by itself and plays the rest.
func runDocument(t *testing.T, name, text string, all *tally) {
	t.Helper()
	blocks, err := snippets.Find(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) == 0 {
		return
	}
	count := tally{documents: 1}
	s := &session{t: t}
	for i, b := range blocks {
		switch {
		case b.Excuse() != "":
			count.excused++
		case b.RunBy() != "":
			count.run++
			if test, err := os.ReadFile(filepath.Join(repository, b.RunBy())); err != nil || !strings.Contains(string(test), name) {
				t.Errorf("line %d: %s does not read this document (%v)", b.Line, b.RunBy(), err)
			}
		case b.CompileOnly() != "" && b.Language == "python":
			count.checked++
			compilePython(t, b)
		case b.IsOutput():
			count.checked++
			if i == 0 || !s.expect(b) {
				t.Errorf("line %d: there is no command whose output this is", b.Line)
			}
		case b.Client() != "":
			count.run++
			s.open()
			s.listTools(b)
		case s.plan(b):
			if onlyMake(b.Text) {
				count.checked++
			} else {
				count.run++
			}
		default:
			checkBlock(t, b)
			if b.Language != "text" {
				count.checked++
			}
		}
	}
	s.play()
	all.add(count)
}

// onlyMake tells whether a block has nothing but targets of make, which are tried without being made.
func onlyMake(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "make ") {
			return false
		}
	}
	return true
}

// programsOfShells begin lines that are meant to be typed, wherever they stand. The forms of aanet's own commands may be
// shown as text: their examples are run.
var programsOfShells = []string{"$ ", "curl ", "make ", "docker ", "npm ", "npx ", "node ", "python3 ", "claude ", "kubectl ", "psql ", "systemctl ", "export "}

// checkBlock checks a block that is no command.
func checkBlock(t *testing.T, b snippets.Block) {
	t.Helper()
	switch b.Language {
	case "json":
		if !json.Valid([]byte(b.Text)) {
			t.Errorf("line %d: this is no JSON", b.Line)
		}
	case "yaml":
		var document any
		if err := yaml.UnmarshalStrict([]byte(b.Text), &document); err != nil {
			t.Errorf("line %d: %v", b.Line, err)
		}
	case "go":
		compileGo(t, b)
	case "text":
		for line := range strings.Lines(b.Text) {
			for _, program := range programsOfShells {
				if strings.HasPrefix(line, program) {
					t.Errorf("line %d: %q is a command: put it into a block of sh or console", b.Line, line)
				}
			}
		}
	default:
		t.Errorf("line %d: a block of %q: use sh, console, json, yaml, toml, go, ts, python or text, and say <!-- not run: why --> above what cannot be run",
			b.Line, b.Language)
	}
}

// What the checks of documents let through, and what they do not.
func TestDocumentsThatAreWrong(t *testing.T) {
	if !sameJSON(`{"a":"…","b":[1,"x…z"]}`, `{"b":[1,"xyz"],"a":7}`) || sameJSON(`{"a":1}`, `{"a":1,"b":2}`) || sameJSON(`[1,2]`, `[1]`) || sameJSON(`"a"`, `"b"`) || sameJSON(`x`, `x`) {
		t.Error("JSON is not compared as it should be")
	}
	for _, wrong := range []string{
		`{"mcpServers":{"other":{"url":"http://h/mcp"}}}`, `{"mcpServers":{"aanet":{"command":"npx","args":["-y","something","http://h/mcp"]}}}`, `{"tools":[]}`, `{`,
	} {
		if address, _, err := configured("json", wrong, "k"); err == nil {
			t.Errorf("%s is taken as a configuration that leads to %q", wrong, address)
		}
	}
	if _, _, err := configured("toml", "[mcp_servers.aanet]\nheaders = {}\n", "k"); err == nil {
		t.Error("a table without an address is taken")
	}
}
