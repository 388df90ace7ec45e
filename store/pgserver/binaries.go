//go:build unix

package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minMajor is the oldest Postgres that the schema and the functions use.
const minMajor = 15

// howToInstall ends every message about missing binaries.
const howToInstall = "install the server (Debian and Ubuntu: `apt-get install postgresql`; macOS: `brew install postgresql@17`; others: https://www.postgresql.org/download/), or set DATABASE_URL to a database that you have"

// binFolders are where packages put the server, which is often not in PATH.
var binFolders = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // the RPM packages
	"/usr/libexec/postgresql*",  // Alpine
	"/usr/local/pgsql/bin",      // built from source
	"/usr/local/bin",
	"/usr/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// binaries is one installed server.
type binaries struct {
	dir          string
	major, minor int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// findBinaries returns the newest server that the account can run. Existing
// data can only be opened by the major version that made it: major names
// it, and is 0 for new data.
func findBinaries(ctx context.Context, a account, major int) (binaries, error) {
	var usable []binaries
	var old string
	for _, b := range installed(ctx, a) {
		switch {
		case major != 0 && b.major != major:
		case b.major < minMajor:
			old = fmt.Sprintf("Postgres %d in %s is too old, AANet needs %d or newer", b.major, b.dir, minMajor)
		default:
			usable = append(usable, b)
		}
	}
	if len(usable) > 0 {
		return slices.MaxFunc(usable, func(x, y binaries) int {
			return cmp.Or(x.major-y.major, x.minor-y.minor)
		}), nil
	}
	if major != 0 {
		return binaries{}, fmt.Errorf("%w: the data was made by Postgres %d, which is not installed (any more): install that version, or use another data directory", errNoBinaries, major)
	}
	if old != "" {
		return binaries{}, fmt.Errorf("%w: %s: %s", errNoBinaries, old, howToInstall)
	}
	return binaries{}, fmt.Errorf("%w: no Postgres server was found: %s", errNoBinaries, howToInstall)
}

var errNoBinaries = errors.New("cannot start a private Postgres")

// installed lists every complete server that the account can run.
func installed(ctx context.Context, a account) []binaries {
	patterns := binFolders
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		patterns = append(patterns[:len(patterns):len(patterns)], dir)
	}
	var found []binaries
	seen := map[string]bool{}
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // a malformed entry of PATH matches nothing
		for _, dir := range dirs {
			// Links into /usr/local/bin lead to a folder that has both.
			server, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
			if err != nil || seen[server] || !exists(filepath.Join(filepath.Dir(server), "initdb")) {
				continue
			}
			seen[server] = true
			if b, err := versionOf(ctx, a, server); err == nil {
				found = append(found, b)
			}
		}
	}
	return found
}

// "postgres (PostgreSQL) 15.18 (Debian …)", "18beta1"
var versionPattern = regexp.MustCompile(`\) (\d+)(?:\.(\d+))?`)

func versionOf(ctx context.Context, a account, server string) (binaries, error) {
	out, err := a.command(ctx, server, "--version").Output()
	if err != nil {
		return binaries{}, err
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return binaries{}, fmt.Errorf("%s --version says %q", server, out)
	}
	b := binaries{dir: filepath.Dir(server)}
	b.major, _ = strconv.Atoi(string(m[1]))
	b.minor, _ = strconv.Atoi(string(m[2]))
	return b, nil
}

// clusterConf keeps Debian's package from making and starting a cluster that
// nobody asked for.
var clusterConf = "/etc/postgresql-common/createcluster.conf"

// installPauses are before each try to install: another apt-get may be at work, whose locks on the lists and on what was
// fetched are not waited for, and a mirror may stumble.
var installPauses = []time.Duration{0, 5 * time.Second, 20 * time.Second}

// install fetches the server where that is possible: root with apt. It is
// called only when no server was found and never upgrades one, for a
// running server breaks when its files change under it.
func install(ctx context.Context, tell func(string)) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return errors.New("installing it needs root and apt-get")
	}
	if !exists(clusterConf) {
		if err := os.MkdirAll(filepath.Dir(clusterConf), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(clusterConf, []byte("create_main_cluster = false\n"), 0o644); err != nil {
			return err
		}
	}
	for _, pause := range installPauses {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
		tell("no Postgres server found: reading the package lists (apt-get update)")
		// Stale lists may do as well: only the installation decides.
		_ = aptGet(ctx, apt, "update", "-o", "Acquire::Retries=3")
		tell("installing Postgres (apt-get install postgresql), this can take some minutes")
		err = aptGet(ctx, apt, "install", "--yes", "--no-upgrade", "--no-install-recommends",
			"-o", "Dpkg::Options::=--force-confold", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=120", "postgresql")
		if err == nil {
			return nil
		}
		tell(err.Error())
	}
	return err
}

func aptGet(ctx context.Context, apt string, args ...string) error {
	cmd := exec.CommandContext(ctx, apt, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lastLines(string(out), 3))
	}
	return nil
}

// lastLines is the end of a program's output, on one line.
func lastLines(text string, n int) string {
	lines := strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
