// Package snippets finds the code blocks of Markdown documents, so that tests can run what the documents tell people to.
package snippets

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is one fenced code block.
type Block struct {
	Line     int      // of its opening fence, from 1
	Language string   // after the fence; "" when none is named
	Text     string   // with a newline at its end
	Notes    []string // the HTML comments right above it, without their marks
}

// Excuse is why a block cannot be run; "" when it can. It is written above the block as <!-- not run: why -->.
func (b Block) Excuse() string { return b.note("not run: ") }

// RunBy is the test that runs a block instead, as a file of the repository: <!-- run by: FILE -->.
func (b Block) RunBy() string { return b.note("run by: ") }

// CompileOnly is why a program is compiled and not run: <!-- compiled only: why -->.
func (b Block) CompileOnly() string { return b.note("compiled only: ") }

// IsOutput tells whether the block shows what the one before it prints: <!-- output -->.
func (b Block) IsOutput() bool {
	for _, n := range b.Notes {
		if n == "output" {
			return true
		}
	}
	return false
}

// Client is the program whose configuration the block is: <!-- client: name -->.
func (b Block) Client() string { return b.note("client: ") }

func (b Block) note(prefix string) string {
	for _, n := range b.Notes {
		if text, ok := strings.CutPrefix(n, prefix); ok {
			return text
		}
	}
	return ""
}

var (
	fence   = regexp.MustCompile("^( {0,3})(```+|~~~+)\\s*([\\w+-]*)\\s*$")
	comment = regexp.MustCompile(`^\s*<!--\s*(.*?)\s*-->\s*$`)
	item    = regexp.MustCompile(`^\s*([*+-]|\d+[.)])\s`)
)

// Find gives the blocks of a document. A block that does not end, and code that is marked by four spaces only, which
// nobody could tell from text, are errors.
func Find(document string) ([]Block, error) {
	var blocks []Block
	var notes []string
	lines := strings.Split(document, "\n")
	inList, blank := false, true
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if open := fence.FindStringSubmatch(line); open != nil {
			end := i + 1
			for end < len(lines) && strings.TrimSpace(lines[end]) != open[2] {
				end++
			}
			if end == len(lines) {
				return nil, fmt.Errorf("line %d: the code block does not end", i+1)
			}
			blocks = append(blocks, Block{Line: i + 1, Language: open[3], Text: body(lines[i+1:end], len(open[1])), Notes: notes})
			notes, i, blank = nil, end, false
			continue
		}
		switch c := comment.FindStringSubmatch(line); {
		case c != nil:
			notes = append(notes, c[1])
		case strings.TrimSpace(line) == "":
			blank = true
			continue
		default:
			notes = nil
		}
		if item.MatchString(line) {
			inList = true
		} else if !strings.HasPrefix(line, "  ") {
			inList = false
		}
		if blank && !inList && strings.HasPrefix(line, "    ") {
			return nil, fmt.Errorf("line %d: code without a fence", i+1)
		}
		blank = false
	}
	return blocks, nil
}

// body is the text of a block whose fence is indented.
func body(lines []string, indent int) string {
	var b strings.Builder
	for _, line := range lines {
		for range indent {
			line = strings.TrimPrefix(line, " ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Step is one command of a console block with what it prints.
type Step struct {
	Command string // may have several lines
	Output  string
}

// Steps splits a console block: a command follows "$ ", goes on after a backslash at a line's end, and what follows it is
// its output.
func Steps(text string) ([]Step, error) {
	var steps []Step
	goesOn := false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case goesOn:
			last := &steps[len(steps)-1]
			last.Command += "\n" + strings.TrimPrefix(line, "> ")
			goesOn = strings.HasSuffix(line, "\\")
		case isCommand:
			steps = append(steps, Step{Command: command})
			goesOn = strings.HasSuffix(line, "\\")
		case len(steps) == 0:
			return nil, fmt.Errorf("line %d of the block: output before a command", i+1)
		default:
			steps[len(steps)-1].Output += line + "\n"
		}
	}
	return steps, nil
}

// Matches tells whether a program printed what a document shows. "…" stands for any text within a line, and alone on a
// line for any number of lines, none included. Blanks at the ends of lines do not count.
func Matches(shown, printed string) bool {
	pattern := regexp.QuoteMeta(tidy(shown))
	for {
		before, after, found := strings.Cut("\n"+pattern+"\n", "\n…\n")
		if !found {
			break
		}
		before, after = strings.TrimPrefix(before, "\n"), strings.TrimSuffix(after, "\n")
		switch {
		case before == "" && after == "":
			pattern = `(?s:.*)`
		case before == "":
			pattern = `(?s:(?:.*\n)?)` + after
		case after == "":
			pattern = before + `(?s:(?:\n.*)?)`
		default:
			pattern = before + `\n(?s:(?:.*\n)?)` + after
		}
	}
	pattern = strings.ReplaceAll(pattern, "…", ".*?")
	return regexp.MustCompile("^" + pattern + "$").MatchString(tidy(printed))
}

func tidy(text string) string {
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), " \t\r\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.Join(lines, "\n")
}
