package snippets

import (
	"slices"
	"strings"
	"testing"
)

const document = "# Title\n\n<!-- not run: needs a wallet -->\n```sh\nmake run\n```\ntext\n<!-- output -->\n\n" +
	"```json\n{}\n```\n\n* item\n\n      still the item\n  ```console\n  $ a\n    b\n  ```\n\n<!-- client: cursor -->\n~~~\n```\n~~~\n"

func TestFind(t *testing.T) {
	blocks, err := Find(document)
	if err != nil || len(blocks) != 4 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	want := []Block{{4, "sh", "make run\n", []string{"not run: needs a wallet"}}, {10, "json", "{}\n", []string{"output"}},
		{17, "console", "$ a\n  b\n", nil}, {23, "", "```\n", []string{"client: cursor"}}}
	for i, b := range blocks {
		if b.Line != want[i].Line || b.Language != want[i].Language || b.Text != want[i].Text || !slices.Equal(b.Notes, want[i].Notes) {
			t.Errorf("block %d is %+v, want %+v", i, b, want[i])
		}
	}
	if blocks[0].Excuse() != "needs a wallet" || blocks[1].Excuse() != "" || !blocks[1].IsOutput() || blocks[0].IsOutput() || blocks[3].Client() != "cursor" {
		t.Error("notes are not read")
	}
}

func TestFindRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"x\n\n    make run\n": "line 3: code without a fence", "```sh\nx\n": "line 1: the code block does not end", "- a\n\nb\n\n    c\n": "line 5",
	} {
		if blocks, err := Find(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, blocks, err)
		}
	}
}

func TestSteps(t *testing.T) {
	steps, err := Steps("$ one\nout\n\n$ two \\\n>   more\n$ three\n")
	want := []Step{{"one", "out\n\n"}, {"two \\\n  more", ""}, {"three", ""}}
	if err != nil || !slices.Equal(steps, want) {
		t.Errorf("%+v, %v", steps, err)
	}
	if _, err := Steps("out\n"); err == nil {
		t.Error("output without a command is taken")
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\n", "a", true}, {"a", "b", false}, {"a", "ab", false}, {"a…c", "abc", true}, {"a…c", "a\nc", false}, {"a\n…\nd\n", "a\nb\nc\nd\n\n", true},
		{"a\n…\nd", "a\nb\nc", false}, {"a  ", "a", true}, {"a.c", "abc", false}, {`{"id":"…"}`, `{"id":"x"}`, true}, {"…", "any\nthing", true},
		{"…\nb", "b", true}, {"…\nb", "a\na\nb", true}, {"…\nb", "ab", false}, {"a\n…", "a", true}, {"a\n…", "a\nb\nc", true}, {"a\n…", "ab", false},
		{"a\n…\nb", "a\nb", true}, {"a\n…\nb\n…\nc", "a\nx\nb\nc", true}, {"a\n…\nb", "a\nxb", false}, {"", "x", false},
	} {
		if got := Matches(c.shown, c.printed); got != c.want {
			t.Errorf("%q shown, %q printed: %v", c.shown, c.printed, got)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add(document)
	f.Add("```\n```\n    x\n")
	f.Fuzz(func(t *testing.T, text string) {
		blocks, err := Find(text)
		if err != nil {
			return
		}
		for _, b := range blocks {
			if !strings.HasSuffix("\n"+b.Text, "\n") || b.Line < 1 || b.Line > strings.Count(text, "\n")+1 {
				t.Errorf("%+v", b)
			}
			_, _ = Steps(b.Text)
		}
		if !Matches(text, text) && !strings.Contains(text, "…") {
			t.Errorf("%q does not match itself", text)
		}
	})
}
