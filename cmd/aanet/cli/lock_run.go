package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"aanet/api/client"
)

// What a command within lock run finds in its environment.
const (
	variableLock  = "AANET_LOCK_NAME"
	variableToken = "AANET_FENCING_TOKEN"
)

const (
	leaseDefault = 30 * time.Second
	graceDefault = 5 * time.Second
)

// notLocked gives the failure to get a lock its own exit code.
func (c *call) notLocked(err error) error {
	if !errors.Is(err, client.CodeLockHeld) && !errors.Is(err, client.ErrHeldByThisKey) {
		return err
	}
	code, fault := c.exitCode("exit-not-locked", ExitNotLocked)
	if fault != nil {
		return fault
	}
	return statusError{code, err}
}

func (c *call) exitCode(name string, otherwise int) (int, error) {
	n, err := c.number(name)
	if err != nil || n == nil {
		return otherwise, err
	}
	if *n < 0 || *n > 255 {
		return otherwise, usagef("--%s must be 0 to 255", name)
	}
	return int(*n), nil
}

func runLockRun(c *call) error {
	in := client.HoldLockIn{Name: c.arg(0), Takeover: c.on("takeover")}
	lease, err := c.seconds("lease", leaseDefault)
	if err != nil {
		return err
	}
	if lease < 1 || lease > 3600 {
		return usagef("--lease must be 1s to 1h")
	}
	in.Lease = time.Duration(lease) * time.Second
	if in.Wait, err = c.duration("wait", 0); err != nil {
		return err
	}
	grace, err := c.duration("grace", graceDefault)
	if err != nil {
		return err
	}
	lostCode, err := c.exitCode("exit-lost", ExitLeaseLost)
	if err != nil {
		return err
	}
	if _, err := c.exitCode("exit-not-locked", ExitNotLocked); err != nil {
		return err
	}
	program, err := exec.LookPath(c.rest[0])
	if err != nil {
		return fmt.Errorf("%s: %w", c.rest[0], err) // before a lock is taken for nothing
	}
	agent, err := c.connect()
	if err != nil {
		return err
	}
	held, err := c.hold(agent, in)
	if err != nil {
		return c.notLocked(err)
	}
	code, err := c.underLease(held, program, grace)
	released := held.Release()
	switch {
	case held.Err() != nil:
		return statusError{lostCode, held.Err()}
	case err != nil:
		return err
	case released != nil:
		c.note("aanet: the lock was not given back, it is free when its lease has run out: %s", lineOf(released))
	}
	if code != 0 {
		return statusError{code: code}
	}
	return nil
}

// hold takes the lock. A signal ends the waiting for it; once it is held, signals are the command's.
func (c *call) hold(agent *client.Client, in client.HoldLockIn) (*client.Lease, error) {
	ctx, giveUp := context.WithCancelCause(context.WithoutCancel(c.ctx))
	stop := context.AfterFunc(c.ctx, func() { giveUp(context.Cause(c.ctx)) })
	lease, err := agent.HoldLock(ctx, in)
	if !stop() && err == nil {
		return nil, errors.Join(context.Canceled, lease.Release())
	}
	return lease, err
}

// underLease runs the command until it ends by itself or the lease is lost, and gives its exit code.
func (c *call) underLease(lease *client.Lease, program string, grace time.Duration) (int, error) {
	child := exec.Command(program, c.rest[1:]...) // not bound to a context: it is told to end before it is killed
	child.Args[0] = c.rest[0]
	child.Stdin, child.Stdout, child.Stderr = c.Stdin, c.Stdout, c.Stderr
	child.Env = c.childEnvironment(lease)
	child.WaitDelay = grace // what it leaves in the background may hold its output
	// On a terminal the command stays in our process group, so that Ctrl-C and Ctrl-Z work as without us.
	apart := !isTerminal(c.Stdin)
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: apart}
	signals := make(chan os.Signal, 8)
	forwarded := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT}
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return 0, fmt.Errorf("%s: %w", c.rest[0], err)
	}
	tell := func(s syscall.Signal) {
		target := child.Process.Pid
		if apart {
			target = -target // with everything it has started
		}
		_ = syscall.Kill(target, s) // it may have ended
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	lost := lease.Context().Done()
	var kill <-chan time.Time
	for {
		select {
		case err := <-ended:
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil
			}
			return exitOf(child, err)
		case s := <-signals:
			// Ctrl-C and Ctrl-\ on a terminal reach the command without us.
			if fromTerminal := s == os.Interrupt || s == syscall.SIGQUIT; apart || !fromTerminal {
				tell(s.(syscall.Signal))
			}
		case <-lost:
			lost = nil
			c.note("aanet: the lease of %s is lost: ending the command", shown(lease.Name()))
			tell(syscall.SIGTERM)
			kill = time.After(grace)
		case <-kill:
			tell(syscall.SIGKILL)
		}
	}
}

// childEnvironment is ours, with the lock and the key that we use.
func (c *call) childEnvironment(lease *client.Lease) []string {
	env := slices.DeleteFunc(slices.Clone(c.Environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == variableLock || name == variableToken
	})
	replace := func(name, value string) {
		env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	switch file, named := c.values["key-file"], c.values["profile"]; {
	case named != "":
		replace("AANET_KEY", "")
		replace("AANET_KEY_FILE", "")
		replace("AANET_PROFILE", named)
	case file != "" && file != "-":
		replace("AANET_KEY", "")
		replace("AANET_KEY_FILE", file)
	}
	if url := c.values["url"]; url != "" {
		replace("AANET_URL", url)
	}
	return append(env, variableLock+"="+lease.Name(), fmt.Sprint(variableToken, "=", lease.FencingToken()))
}

// exitOf is the exit code of a command that has ended; 128 and the signal's number when one has ended it, as shells have it.
func exitOf(child *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("the command: %w", err)
	}
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return child.ProcessState.ExitCode(), nil
}

// isTerminal tells whether somebody sits at it.
func isTerminal(r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && file.Name() != os.DevNull
}
