// Package programs finds the programs of others that tests run: a browser, Node.js, packages of npm, Python. `make test`
// installs what deploy/tools/packages.sh can; what is missing even so skips the test that needs it, and fails it where
// everything has to run: with CI=true, or with one of the variables below set.
package programs

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Variables that make the tests of one kind fail, not skip, where the program cannot be had.
const (
	browserRequired = "AANET_TEST_BROWSER"
	nodeRequired    = "AANET_TEST_NODE"
	pythonRequired  = "AANET_TEST_PYTHON"
	shellRequired   = "AANET_TEST_SHELL"
)

// browsers are names of Chromium and what is built from it, the first found is taken.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// Browser is the path of a Chromium.
func Browser(t testing.TB) string {
	t.Helper()
	for _, name := range browsers {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	unavailable(t, browserRequired, "no Chromium is installed")
	return ""
}

// nodeOldest is the oldest major version of Node.js that the packages of our tests run on.
const nodeOldest = 20

// Node is the path of a Node.js, version 20 or newer.
func Node(t testing.TB) string {
	t.Helper()
	if file, major := installedNode(t); major >= nodeOldest {
		return file
	}
	return Node24(t)
}

//go:embed node24/package.json node24/package-lock.json
var node24 embed.FS

// Node24 is the path of a Node.js, version 24 or newer. Where none is installed it comes from npm, once per machine.
func Node24(t testing.TB) string {
	t.Helper()
	if file, major := installedNode(t); major >= 24 {
		return file
	}
	folder := Packages(t, "node24", node24)
	found, err := fs.Glob(os.DirFS(folder), "node_modules/node-*/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 { // npm leaves out what is for other platforms
		unavailable(t, nodeRequired, "npm has no Node.js 24 for this platform")
	}
	return filepath.Join(folder, filepath.FromSlash(found[0]))
}

// installedNode is the Node.js in PATH and its major version, which is 0 when there is none.
func installedNode(t testing.TB) (file string, major int) {
	t.Helper()
	file, err := exec.LookPath("node")
	if err != nil {
		return "", 0
	}
	out, err := exec.CommandContext(t.Context(), file, "--version").Output()
	if err != nil {
		t.Fatalf("%s --version: %v", file, err)
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if major, err = strconv.Atoi(number); err != nil {
		t.Fatalf("%s --version says %q", file, out)
	}
	return file, major
}

// Python is the path of a Python 3.
func Python(t testing.TB) string {
	t.Helper()
	file, err := exec.LookPath("python3")
	if err != nil {
		unavailable(t, pythonRequired, "no Python 3 is installed")
	}
	return file
}

// Shell makes sure of the programs that documents call from a shell.
func Shell(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range append([]string{"bash"}, names...) {
		if _, err := exec.LookPath(name); err != nil {
			unavailable(t, shellRequired, "%s is not installed", name)
		}
	}
}

// unavailable skips the test, or fails it where everything has to run.
func unavailable(t testing.TB, variable, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	for _, name := range []string{"CI", variable} {
		if required(os.Getenv(name)) {
			t.Fatalf("%s is set, but %s", name, reason)
		}
	}
	t.Skipf("not tested: %s", reason)
}

// required reads such a variable as everyone sets them.
func required(value string) bool { return value != "" && value != "0" && value != "false" }
