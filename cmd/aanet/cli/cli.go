// Package cli is the command line for those who have a workspace: one table of commands, from which the program, its help,
// its completion and docs/cli.md are made. It does everything through the Go client.
package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// World is what a command has of the world.
type World struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
}

// getenv is a variable's value; "" when it is not set.
func (w World) getenv(name string) string {
	for _, entry := range slices.Backward(w.Environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Server is a command of the program that is none of this package, for the help.
type Server struct{ Name, Summary string }

// Known tells whether a word begins a command of this package.
func Known(word string) bool {
	return slices.ContainsFunc(commands(), func(c *command) bool { return c.name == word || strings.HasPrefix(c.name, word+" ") })
}

// Run runs the command that args name and gives the exit code of the process. What went wrong stands on w.Stderr.
func Run(ctx context.Context, w World, args []string) int {
	err := run(ctx, w, args)
	return report(w, err)
}

func run(ctx context.Context, w World, args []string) error {
	c, rest := find(args)
	if c == nil {
		return groupUsage(args)
	}
	in, err := c.parse(rest)
	if err != nil {
		return err
	}
	if in.help {
		writeHelp(w.Stdout, c)
		return nil
	}
	in.ctx, in.World = ctx, w
	return c.run(in)
}

// find gives the command with the longest name that args begin with.
func find(args []string) (*command, []string) {
	if len(args) > 1 {
		if i := slices.IndexFunc(commands(), func(c *command) bool { return c.name == args[0]+" "+args[1] }); i >= 0 {
			return commands()[i], args[2:]
		}
	}
	if i := slices.IndexFunc(commands(), func(c *command) bool { return len(args) > 0 && c.name == args[0] }); i >= 0 {
		return commands()[i], args[1:]
	}
	return nil, nil
}

// groupUsage says what may follow a word such as keys.
func groupUsage(args []string) error {
	var next []string
	for _, c := range commands() {
		if rest, ok := strings.CutPrefix(c.name, args[0]+" "); ok {
			next = append(next, rest)
		}
	}
	return usagef("aanet %s is followed by one of: %s", args[0], strings.Join(next, ", "))
}

// usageError is a command that was not called as it should be.
type usageError struct{ text string }

// Error says how to call it.
func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }
