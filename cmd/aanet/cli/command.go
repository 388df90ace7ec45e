package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"aanet/api/client"
)

// The groups of the help.
const (
	groupWork  = "Work together"
	groupOwner = "Own a workspace"
	groupHere  = "On this machine"
)

// command is one command with all that its help, completion and reference say.
type command struct {
	name    string // one or two words
	group   string
	args    string // as the usage line shows them
	min     int    // of arguments
	max     int    // of arguments; -1: any number
	takes   bool   // "-- COMMAND…"
	summary string
	detail  string
	example string
	flags   []option
	local   bool // it calls no service
	run     func(*call) error
}

// option is a flag of a command; without a value it is a switch.
type option struct{ name, value, help string }

// common are the flags of every command that calls the service.
var common = []option{
	{"json", "", "print the service's own JSON: one object, or one line for each of a list"},
	{"url", "URL", "the service (AANET_URL, the profile's, else http://127.0.0.1:8402)"},
	{"profile", "NAME", "the profile whose key is used (AANET_PROFILE, else the one in use)"},
	{"key-file", "FILE", "a file with the key in it (AANET_KEY_FILE)"},
}

// options are all flags of a command.
func (c *command) options() []option {
	if c.local {
		return c.flags
	}
	return append(c.flags[:len(c.flags):len(c.flags)], common...)
}

// made is the table, once commands was called.
var made struct {
	once sync.Once
	all  []*command
}

// commands is the table, in the order of the help.
func commands() []*command {
	made.once.Do(func() {
		for _, part := range [][]*command{
			fileCommands(), lockCommands(), messageCommands(), balanceCommands(),
			workspaceCommands(), keyCommands(), activityCommands(), webhookCommands(), moneyCommands(), profileCommands(),
		} {
			made.all = append(made.all, part...)
		}
	})
	return made.all
}

// call is a command as it was called.
type call struct {
	World
	ctx      context.Context
	cmd      *command
	args     []string
	rest     []string // after --
	values   map[string]string
	help     bool
	identity identity // where the key came from, once connect was called
}

// parse reads flags and arguments in any order.
func (c *command) parse(words []string) (*call, error) {
	in := &call{cmd: c, values: map[string]string{}}
	for i, word := range words {
		if word == "--" && c.takes {
			words, in.rest = words[:i], words[i+1:]
			break
		}
	}
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, o := range c.options() {
		set := func(text string) error { in.values[o.name] = text; return nil }
		if o.value == "" {
			flags.BoolFunc(o.name, "", set)
		} else {
			flags.Func(o.name, "", set)
		}
	}
	for {
		err := flags.Parse(words)
		if errors.Is(err, flag.ErrHelp) {
			in.help = true
			return in, nil
		}
		if err != nil {
			return nil, usagef("%s; usage: %s", err, c.usage())
		}
		if flags.NArg() == 0 {
			break
		}
		if len(words) > flags.NArg() && words[len(words)-flags.NArg()-1] == "--" {
			in.args = append(in.args, flags.Args()...)
			break
		}
		in.args = append(in.args, flags.Arg(0))
		words = flags.Args()[1:]
	}
	if len(in.args) < c.min || c.max >= 0 && len(in.args) > c.max || c.takes && len(in.rest) == 0 {
		return nil, usagef("usage: %s", c.usage())
	}
	return in, nil
}

// usage is the one line that says how to call it.
func (c *command) usage() string {
	text := "aanet " + c.name
	if c.args != "" {
		text += " " + c.args
	}
	for _, o := range c.flags {
		text += " [--" + o.name
		if o.value != "" {
			text += " " + o.value
		}
		text += "]"
	}
	if c.takes {
		text += " -- COMMAND [ARG…]"
	}
	return text
}

// arg is an argument by its place; "" when it was not given.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

func (c *call) on(name string) bool {
	on, _ := strconv.ParseBool(c.values[name])
	return on
}

// text is a flag's value; nil when it was not given.
func (c *call) text(name string) *string {
	if value, given := c.values[name]; given {
		return &value
	}
	return nil
}

// number is a flag's whole number; nil when it was not given.
func (c *call) number(name string) (*int64, error) {
	value, given := c.values[name]
	if !given {
		return nil, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return nil, usagef("--%s must be a whole number", name)
	}
	return &n, nil
}

// numbers reads several flags at once.
func (c *call) numbers(into map[string]**int64) error {
	for name, target := range into {
		n, err := c.number(name)
		if err != nil {
			return err
		}
		*target = n
	}
	return nil
}

// count is a flag's whole number, 0 when it was not given.
func (c *call) count(name string) (int64, error) {
	n, err := c.number(name)
	if n == nil {
		return 0, err
	}
	return *n, err
}

// duration is a flag's time, such as 90s or 5m, or a default.
func (c *call) duration(name string, otherwise time.Duration) (time.Duration, error) {
	value, given := c.values[name]
	if !given {
		return otherwise, nil
	}
	if value == "forever" {
		return client.Forever, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, usagef("--%s must be a time such as 30s, 5m or 1h", name)
	}
	return d, nil
}

// seconds is a flag's time in whole seconds: less would be dropped without a word.
func (c *call) seconds(name string, otherwise time.Duration) (int64, error) {
	d, err := c.duration(name, otherwise)
	if err == nil && d%time.Second != 0 && d != client.Forever {
		err = usagef("--%s must be whole seconds", name)
	}
	return int64(d / time.Second), err
}

// since is a flag's moment: an RFC 3339 timestamp, or how long ago.
func (c *call) since(name string) (*time.Time, error) {
	value, given := c.values[name]
	if !given {
		return nil, nil
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(value, "-")); err == nil {
		return new(time.Now().Add(-d)), nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return nil, usagef("--%s must be a time such as 2026-11-30T12:00:00Z, or how long ago, such as 10m", name)
	}
	return &t, nil
}
