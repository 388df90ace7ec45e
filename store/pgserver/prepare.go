//go:build unix

package pgserver

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// prepare takes the data directory, finds the server's binaries and its user,
// and creates the data if there is none.
func (s *Server) prepare(ctx context.Context) error {
	dir, err := s.takeDir()
	if err != nil {
		return err
	}
	if s.place.initialised() {
		err = s.useExisting(ctx)
	} else {
		err = s.create(ctx, dir)
	}
	if err != nil {
		return err
	}
	s.Dir, s.moved = s.place.base, s.place.base != dir
	s.socketDir, err = s.place.makeSocketDir(s.account)
	return err
}

// takeDir makes and locks the caller's folder, and the one that really
// holds the data if that is another: a copied folder may name the same one.
func (s *Server) takeDir() (string, error) {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711 // the server's user has to pass through
	}
	if err := os.MkdirAll(s.opts.Dir, mode); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	dir, err := canonical(s.opts.Dir)
	if err != nil {
		return "", err
	}
	held, err := lock(dir)
	if err != nil {
		return "", err
	}
	all := locks{held}
	s.held = all
	if s.place, err = placeOf(dir); err != nil || s.place.base == dir {
		return dir, err
	}
	if held, err = lock(s.place.base); err == nil {
		s.held = append(all, held)
	}
	return dir, err
}

// useExisting finds the user and the binaries that fit data that is there.
func (s *Server) useExisting(ctx context.Context) error {
	owner, err := ownerOf(s.place.data())
	if err != nil {
		return err
	}
	if self := os.Geteuid(); self != 0 && self != owner {
		return fmt.Errorf("the data in %s belongs to user id %d: start as that user or as root, or use another data directory", s.place.base, owner)
	}
	if owner == 0 {
		// Somebody copied it as root; the server could not read it.
		if s.account, err = chooseAccount(); err == nil {
			err = giveAll(s.account, s.place.data())
		}
	} else {
		s.account, err = accountOf(owner)
	}
	if err != nil {
		return err
	}
	version, err := readLine(filepath.Join(s.place.data(), "PG_VERSION"))
	if err != nil {
		return err
	}
	major, err := strconv.Atoi(version)
	if err != nil {
		return fmt.Errorf("%s holds no Postgres data that can be read: its version is %q", s.place.data(), version)
	}
	if s.binaries, err = s.findOrInstall(ctx, major); err != nil {
		return err
	}
	if !s.account.canEnter(ctx, s.place.data()) {
		return fmt.Errorf("user %s, who runs Postgres, cannot enter %s any more: open the folders above it (chmod o+x), or use another data directory", s.account.name, s.place.data())
	}
	return nil
}

// create makes new data. It is built beside its final name, so that a
// start that was killed half-way leaves nothing that looks whole.
func (s *Server) create(ctx context.Context, dir string) error {
	var err error
	if s.account, err = chooseAccount(); err != nil {
		return err
	}
	if s.binaries, err = s.findOrInstall(ctx, 0); err != nil {
		return err
	}
	if s.place, err = newPlace(ctx, dir, s.account); err != nil {
		return err
	}
	building := s.place.data() + ".new"
	for _, half := range []string{building, s.place.data()} {
		if err := os.RemoveAll(half); err != nil {
			return err
		}
	}
	if err := s.account.makeDir(building); err != nil {
		return err
	}
	err = s.step("creating the data in "+s.place.base, func() error { return s.initdb(ctx, building) })
	if err != nil {
		return err
	}
	return os.Rename(building, s.place.data())
}

func (s *Server) initdb(ctx context.Context, data string) error {
	args := []string{
		"-D", data, "-U", role, "--encoding=UTF8", "--locale=C",
		// The socket's folder says who may connect; nobody comes by TCP.
		"--auth-local=trust", "--auth-host=reject",
	}
	if !s.opts.Durable {
		args = append(args, "--no-sync")
	}
	if out, err := s.account.command(ctx, s.binaries.path("initdb"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb as user %s: %w: %s", s.account.name, err, lastLines(string(out), 3))
	}
	return nil
}

// findOrInstall finds the binaries, or installs them where none are.
func (s *Server) findOrInstall(ctx context.Context, major int) (binaries, error) {
	b, err := findBinaries(ctx, s.account, major)
	if err == nil || len(installed(ctx, s.account)) > 0 {
		return b, err
	}
	if failed := install(ctx, s.opts.Progress); failed != nil {
		return binaries{}, fmt.Errorf("%w (%w)", err, failed)
	}
	if major == 0 {
		// The package brings the user who is best for new data.
		if s.account, err = chooseAccount(); err != nil {
			return binaries{}, err
		}
	}
	return findBinaries(ctx, s.account, major)
}

func giveAll(a account, dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return a.give(path)
	})
}
