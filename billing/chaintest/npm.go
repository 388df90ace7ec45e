package chaintest

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"
)

// nodeRequired makes tests that need Node.js fail, not skip, where it cannot be had.
const nodeRequired = "AANET_TEST_NODE"

// Installed gives a folder with the files of a folder, and the npm packages that its lock file names. It installs once
// per content, in the user's cache, and skips the test where that is impossible.
func Installed(t testing.TB, name string, files fs.FS) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			unavailable(t, "%s is not installed", program)
		}
	}
	hash := sha256.New()
	contents := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, file)
		contents[path.Base(file)] = b
		fmt.Fprintf(hash, "%s %d %s", file, len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	parent := filepath.Join(cache, "aanet-test")
	folder := filepath.Join(parent, fmt.Sprintf("%s-%x", name, hash.Sum(nil)[:8]))
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	install(t, parent, folder, contents)
	return folder
}

func install(t testing.TB, parent, folder string, contents map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	building, err := os.MkdirTemp(parent, "installing-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(building) })
	for name, b := range contents {
		if err := os.WriteFile(filepath.Join(building, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000")
	npm.Dir = building
	if out, err := npm.CombinedOutput(); err != nil {
		unavailable(t, "npm ci: %v\n%s", err, out)
	}
	// Another test process may have been faster; either is the same.
	if err := os.Rename(building, folder); err != nil {
		if _, there := os.Stat(folder); there != nil {
			t.Fatal(err)
		}
	}
}

// unavailable skips, or fails where Node.js is required.
func unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv(nodeRequired) != "" {
		t.Fatalf("%s is set, but %s", nodeRequired, reason)
	}
	t.Skipf("not tested: %s", reason)
}

//go:embed svm/package.json svm/package-lock.json svm/node.mjs svm/wire.mjs
var svmFiles embed.FS
