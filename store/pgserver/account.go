//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that the server's processes run as. Postgres refuses to
// run as root, so root hands it to somebody who owns nothing of value.
type account struct {
	name     string
	uid, gid int
	switchTo bool // we are root: processes must change to this user
}

// unprivileged lists who may run the server when we are root, best first.
// The user must exist by name: initdb looks itself up.
var unprivileged = []string{"postgres", "nobody", "daemon", "bin", "www-data"}

// chooseAccount picks the user for new data.
func chooseAccount() (account, error) {
	if os.Geteuid() != 0 {
		return accountOf(os.Geteuid())
	}
	for _, name := range unprivileged {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if a, err := newAccount(u); err == nil && a.uid != 0 {
			return a, nil
		}
	}
	return account{}, errors.New("Postgres does not run as root, and this machine has no other user for it: add one with `useradd --system postgres`")
}

// accountOf is the user who owns data that exists already.
func accountOf(uid int) (account, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return account{}, fmt.Errorf("Postgres needs a user with a name, and user id %d has none: %w", uid, err)
	}
	return newAccount(u)
}

func newAccount(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("user id %q of %s: %w", u.Uid, u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("group id %q of %s: %w", u.Gid, u.Username, err)
	}
	return account{name: u.Username, uid: uid, gid: gid, switchTo: os.Geteuid() == 0 && uid != 0}, nil
}

// command prepares a program that runs as the account. It starts in the root
// folder, since the current one may be closed to that user, and in a session
// of its own, so that Ctrl-C reaches only us and we stop things in order.
func (a account) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = "/"
	// No PG* variable of the caller may redirect our server.
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	if libraries := os.Getenv("LD_LIBRARY_PATH"); libraries != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libraries)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.switchTo {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}

// canEnter asks the system itself whether the account may enter dir: mode
// bits alone miss access lists and remote file systems.
func (a account) canEnter(ctx context.Context, dir string) bool {
	return a.command(ctx, "/bin/sh", "-c", `cd "$1"`, "sh", dir).Run() == nil
}

// makeDir creates dir, open to the account only.
func (a account) makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return a.give(dir)
}

// give makes path the account's own.
func (a account) give(path string) error {
	if !a.switchTo {
		return nil
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("give %s to user %s: %w", path, a.name, err)
	}
	return nil
}

// ownerOf is the id of the user who owns path.
func ownerOf(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("the owner of %s is unknown", path)
	}
	return int(stat.Uid), nil
}
