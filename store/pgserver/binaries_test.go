//go:build unix

package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeServer makes a folder with a server that answers --version only.
func fakeServer(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, program := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// onlyLookIn hides the servers of this machine.
func onlyLookIn(t *testing.T, patterns ...string) {
	t.Helper()
	old := binFolders
	binFolders = patterns
	t.Cleanup(func() { binFolders = old })
	t.Setenv("PATH", "/nowhere")
}

func TestFindBinaries(t *testing.T) {
	a, err := chooseAccount()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		installed []string
		major     int
		want      string // the version, or a part of the error
	}{
		{"nothing", nil, 0, "apt-get install postgresql"},
		{"too old", []string{"9.6.24", "14.2"}, 0, "too old, AANet needs 15"},
		{"the newest", []string{"9.6.24", "15.18", "17.2 (Debian 17.2-1)", "17.10"}, 0, "17.10"},
		{"a beta", []string{"15.18", "18beta1"}, 0, "18.0"},
		{"data of an older one", []string{"15.18", "17.2"}, 15, "15.18"},
		{"data of a removed one", []string{"17.2"}, 15, "made by Postgres 15"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := filepath.Dir(folder(t))
			for i, version := range c.installed {
				fakeServer(t, filepath.Join(root, fmt.Sprint(i)), version)
			}
			onlyLookIn(t, filepath.Join(root, "*"))
			b, err := findBinaries(t.Context(), a, c.major)
			got := fmt.Sprintf("%d.%d", b.major, b.minor)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestInstall(t *testing.T) {
	root := filepath.Dir(folder(t))
	// An apt-get that notes what it is asked and "installs" by linking, at the second time.
	a, err := chooseAccount()
	if err != nil {
		t.Fatal(err)
	}
	real, err := findBinaries(t.Context(), a, 0)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$DEBIAN_FRONTEND $*\" >> %[1]s/asked\n[ $1 = install ] || exit 0\n[ -e %[1]s/locked ] || { : > %[1]s/locked; exit 100; }\n/bin/ln -s %[2]s %[1]s/bin\n", root, real.dir)
	if err := os.Mkdir(filepath.Join(root, "path"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "path", "apt-get"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	onlyLookIn(t, filepath.Join(root, "bin"))
	t.Setenv("PATH", filepath.Join(root, "path"))
	defer func(old string) { clusterConf = old }(clusterConf)
	clusterConf = filepath.Join(root, "postgresql-common", "createcluster.conf")
	defer func(old []time.Duration) { installPauses = old }(installPauses)
	installPauses = []time.Duration{0, time.Millisecond}

	dir := filepath.Join(root, "data")
	if os.Geteuid() != 0 {
		if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "needs root") {
			t.Errorf("an ordinary user got %v", err)
		}
		return
	}
	var told []string
	s, err := Start(t.Context(), Options{Dir: dir, Progress: func(line string) { told = append(told, line) }})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	asked, err := os.ReadFile(filepath.Join(root, "asked"))
	want := "noninteractive update -o Acquire::Retries=3\nnoninteractive install --yes --no-upgrade"
	if err != nil || !strings.HasPrefix(string(asked), want) || strings.Count(string(asked), "noninteractive install --yes --no-upgrade") != 2 {
		t.Errorf("apt-get was asked %q, %v", asked, err)
	}
	if conf, err := os.ReadFile(clusterConf); err != nil || !strings.Contains(string(conf), "create_main_cluster = false") {
		t.Errorf("the package would start a cluster: %q, %v", conf, err)
	}
	if text := strings.Join(told, "\n"); !strings.Contains(text, "installing Postgres") {
		t.Errorf("nothing was told: %q", text)
	}
}
