package programs_test

import (
	"os/exec"
	"strings"
	"testing"

	"aanet/deploy/programs"
)

// A program whose version cannot be told is none that a test could run.
func TestWhatIsFoundRuns(t *testing.T) {
	for name, find := range map[string]func(testing.TB) string{
		"browser": programs.Browser, "node": programs.Node, "node 24": programs.Node24, "python": programs.Python,
	} {
		t.Run(name, func(t *testing.T) {
			file := find(t)
			out, err := exec.CommandContext(t.Context(), file, "--version").Output()
			if err != nil || len(out) == 0 {
				t.Errorf("%s --version: %v %q", file, err, out)
			}
			if name == "node 24" && strings.Compare(string(out), "v24") < 0 {
				t.Errorf("it is %s", out)
			}
		})
	}
}

// fake records what a test that misses something would have done.
type fake struct {
	testing.TB
	failed, skipped bool
}

func (*fake) Helper()                 {}
func (f *fake) Fatalf(string, ...any) { f.failed = true; panic(f) }
func (f *fake) Skipf(string, ...any)  { f.skipped = true; panic(f) }

func TestWhatIsMissingSkipsOrFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	for _, c := range []struct {
		name, value string
		fails       bool
	}{{"AANET_TEST_PYTHON", "", false}, {"AANET_TEST_PYTHON", "1", true}, {"AANET_TEST_NODE", "1", false},
		{"CI", "true", true}, {"CI", "false", false}} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv("CI", "")
			t.Setenv(c.name, c.value)
			f := &fake{TB: t}
			func() {
				defer func() { _ = recover() }()
				programs.Python(f)
			}()
			if f.failed != c.fails || f.skipped == c.fails {
				t.Errorf("failed: %v, skipped: %v", f.failed, f.skipped)
			}
		})
	}
}
