package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"aanet/api/client"
)

// Exit codes. They are promised: scripts decide by them.
const (
	ExitOK         = 0
	ExitRefused    = 1   // the service refused the call, or something here went wrong
	ExitUsage      = 2   // not called as it should be; nothing was sent
	ExitNotReached = 3   // nobody answered, or the service cannot take the call now: try again later
	ExitNotLocked  = 4   // lock run: the lock was not to be had, the command was not started
	ExitLeaseLost  = 5   // lock run: the lease was lost, the command was ended
	ExitStopped    = 130 // ended by Ctrl-C or a signal
)

// exitCodes explains them.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{ExitOK, "done"},
	{ExitRefused, "refused by the service, or something on this machine is wrong; the line on standard error says what"},
	{ExitUsage, "called wrongly; nothing was sent"},
	{ExitNotReached, "no answer, or the service cannot take the call now (UNAVAILABLE, RATE_LIMITED): try again later"},
	{ExitNotLocked, "`lock run`: another has the lock; the command was not started"},
	{ExitLeaseLost, "`lock run`: the lease was lost; the command was told to end, and killed if it did not"},
	{ExitStopped, "stopped by Ctrl-C or a signal"},
}

// statusError carries an exit code of its own; err is told unless it is nil.
type statusError struct {
	code int
	err  error
}

// Error is that of what happened.
func (e statusError) Error() string {
	if e.err == nil {
		return fmt.Sprint("exit ", e.code)
	}
	return e.err.Error()
}

// Unwrap is what happened.
func (e statusError) Unwrap() error { return e.err }

// report writes what went wrong in one line and gives the exit code.
func report(w World, err error) int {
	var status statusError
	if errors.As(err, &status) {
		if status.err != nil {
			fmt.Fprintln(w.Stderr, "aanet: "+lineOf(status.err))
		}
		return status.code
	}
	if err != nil {
		fmt.Fprintln(w.Stderr, "aanet: "+lineOf(err))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitStopped
	case client.Temporary(err), errors.Is(err, client.ErrNotReached):
		return ExitNotReached
	}
	return ExitRefused
}

// lineOf is one line: the code, what to do, and the id that names the call to the operator.
func lineOf(err error) string {
	var refusal *client.Error
	line := err.Error()
	switch {
	case errors.As(err, &refusal) && refusal.Code != "":
		line = string(refusal.Code) + ": " + refusal.Detail
		for _, fault := range refusal.Fields {
			line += " " + fault.Field + " " + fault.Message + "."
		}
		for _, name := range []string{"current_etag", "lease_expires_at", "holder_subkey_id", "required", "available", "available_at", "reason", "tx_hash"} {
			if value := refusal.Extra[name]; value != nil {
				line += fmt.Sprintf(" %s: %v.", name, value)
			}
		}
		if errors.Is(err, client.ErrLeaseLost) {
			line = "the lease is lost: " + line
		}
		if refusal.RequestID != "" {
			line += " (request " + refusal.RequestID + ")"
		}
	case errors.Is(err, context.Canceled):
		line = "stopped"
	case errors.Is(err, client.ErrNoWorkspace):
		line = "that is no key: one begins with aan_o or aan_s and has 77 characters"
	case errors.Is(err, client.ErrNotReached):
		line = strings.TrimPrefix(line, "client: ") + ". Is the service running there? AANET_URL, --url or the profile names it"
	default:
		line = strings.TrimPrefix(line, "client: ")
	}
	return shown(line)
}
