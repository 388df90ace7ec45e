//go:build unix

package pgserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// elsewhereFile, in the caller's folder, names the folder that holds the
	// data when the server's user cannot enter the caller's. Removing the
	// caller's folder therefore always gives a fresh database.
	elsewhereFile = "postgres-elsewhere"
	// socketFile, beside the data, names the socket folder of the last start,
	// so that the next one can clear it away after a crash.
	socketFile = "postgres-socket"
	lockFile   = "postgres-lock"
	logFile    = "postgres.log"
	dataDir    = "postgres"
)

// elsewhere is where data goes that cannot stay in the caller's folder: it
// survives a reboot, and every user may enter it.
var elsewhere = "/var/tmp"

// place is a folder that holds one data directory and its lock, log and notes.
type place struct{ base string }

func (p place) data() string            { return filepath.Join(p.base, dataDir) }
func (p place) file(name string) string { return filepath.Join(p.base, name) }
func (p place) initialised() bool       { return exists(filepath.Join(p.data(), "PG_VERSION")) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// canonical is the one name of a folder that exists, however it is reached.
func canonical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// placeOf finds the place that belongs to the caller's folder, which exists.
func placeOf(dir string) (place, error) {
	moved, err := readLine(filepath.Join(dir, elsewhereFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return place{dir}, nil
	case err != nil:
		return place{}, err
	case !exists(moved):
		// Cleaned away, or the folder came from another machine.
		return place{dir}, nil
	}
	moved, err = canonical(moved)
	return place{moved}, err
}

// newPlace chooses where new data goes: into the caller's folder when the
// server's user can enter it, else under /var/tmp, with a note of where.
func newPlace(ctx context.Context, dir string, a account) (place, error) {
	if !a.switchTo || a.canEnter(ctx, dir) {
		return place{dir}, nil
	}
	sum := sha256.Sum256([]byte(dir))
	// MkdirTemp, not a name that others could guess and take first.
	base, err := os.MkdirTemp(elsewhere, "aanet-"+hex.EncodeToString(sum[:6])+"-")
	if err != nil {
		return place{}, err
	}
	if err := a.give(base); err != nil {
		return place{}, err
	}
	if base, err = canonical(base); err != nil {
		return place{}, err
	}
	return place{base}, os.WriteFile(filepath.Join(dir, elsewhereFile), []byte(base+"\n"), 0o644)
}

// lock takes dir for this process. The kernel frees it when we die, however
// we die, so whatever still runs on the data of a free lock is an orphan.
func lock(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := readLine(f.Name())
		f.Close()
		return nil, fmt.Errorf("%w: process %s runs a Postgres in %s; stop it, or use another data directory", ErrRunning, holder, dir)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// locks are held together and freed together.
type locks []io.Closer

func (l locks) Close() error {
	var err error
	for _, one := range l {
		err = errors.Join(err, one.Close())
	}
	return err
}

// makeSocketDir makes the folder of the socket: short, because a socket's
// path is limited to about 107 bytes, and closed to everybody else.
func (p place) makeSocketDir(a account) (string, error) {
	p.removeSocketDir()
	var dir string
	var err error
	for _, parent := range []string{"/tmp", "/var/tmp"} {
		if dir, err = os.MkdirTemp(parent, "aanet-"); err == nil {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for the Postgres socket: %w", err)
	}
	if err := a.give(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(p.file(socketFile), []byte(dir+"\n"), 0o644)
}

// removeSocketDir clears what the last start left, and nothing else: only
// the files of a socket, then the folder if it is empty.
func (p place) removeSocketDir() {
	dir, err := readLine(p.file(socketFile))
	if err != nil || !strings.HasPrefix(filepath.Base(dir), "aanet-") {
		return
	}
	for _, name := range []string{".s.PGSQL." + port, ".s.PGSQL." + port + ".lock"} {
		os.Remove(filepath.Join(dir, name))
	}
	os.Remove(dir)
	os.Remove(p.file(socketFile))
}

func readLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(line)), nil
}
