//go:build unix

package programs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Packages gives a folder with the files of a folder, and the npm packages that its lock file names. It installs once
// per content, in the user's cache; tests of other processes that want the same wait for it.
func Packages(t testing.TB, name string, files fs.FS) string {
	t.Helper()
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
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(parent, fmt.Sprintf("%s-%x", name, hash.Sum(nil)[:8]))
	unlock := lock(t, folder+".lock")
	defer unlock()
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		install(t, folder, contents)
	} else if err != nil {
		t.Fatal(err)
	}
	return folder
}

// lock waits until no other process holds the file.
func lock(t testing.TB, file string) (unlock func()) {
	t.Helper()
	held, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		t.Fatalf("lock %s: %v", file, err)
	}
	return func() { _ = held.Close() }
}

// install makes the folder: npm works beside it, so that one which was stopped half-way is never taken for whole.
func install(t testing.TB, folder string, contents map[string][]byte) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		unavailable(t, nodeRequired, "npm is not installed")
	}
	building, err := os.MkdirTemp(filepath.Dir(folder), "installing-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(building) })
	for name, b := range contents {
		if err := os.WriteFile(filepath.Join(building, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const patience = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for try := 1; ; try++ {
		npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
			"--fetch-retries=4", "--fetch-retry-mintimeout=2000", "--fetch-retry-factor=3", "--fetch-timeout=30000")
		npm.Dir = building
		out, err := npm.CombinedOutput()
		if err == nil {
			break
		}
		if try == 3 || ctx.Err() != nil { // npm itself does not repeat all that a registry may do wrong
			unavailable(t, nodeRequired, "npm ci: %v\n%s", err, out)
		}
	}
	if err := os.Rename(building, folder); err != nil {
		t.Fatal(err)
	}
}
