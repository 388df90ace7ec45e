package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"aanet/api/client"
)

// fileBytesMax is the size of the largest file that the service takes.
const fileBytesMax = 1 << 20

// guards are the flags of what changes a file.
var guards = []option{
	{"if-match", "ETAG", "only while the file has this etag (aanet cat --json shows it)"},
	{"fence", "", "only while the lock of the surrounding lock run is held"},
}

func fileCommands() []*command {
	return []*command{
		{
			name: "put", group: groupWork, args: "PATH [FILE]", min: 1, max: 2, summary: "write a file", run: runPut,
			detail:  "Writes a text file from FILE, or from standard input, in one piece: at most 1 MiB of UTF-8. 8 units and 2 for each started KiB.",
			example: "echo 'write the report' | aanet put notes/plan.md",
			flags: append([]option{
				{"create-only", "", "only if there is no such file"},
				{"stamp", "", "add a line that names the workspace"},
			}, guards...),
		},
		{
			name: "cat", group: groupWork, args: "PATH", min: 1, max: 1, summary: "print a file", run: runCat,
			detail:  "Prints a file as it is. 1 unit.",
			example: "aanet cat notes/plan.md",
			flags:   []option{{"offset", "BYTE", "begin at this byte"}, {"max-bytes", "N", "print at most so many bytes, whole characters"}},
		},
		{
			name: "ls", group: groupWork, args: "[PATH]", max: 1, summary: "list a directory", run: runLs,
			detail:  "Lists the names in a directory, or in the root. Directories end with /. 1 unit.",
			example: "aanet ls notes",
		},
		{
			name: "append", group: groupWork, args: "PATH [FILE]", min: 1, max: 2, summary: "append to a file", run: runAppend,
			detail:  "Adds text from FILE, or from standard input, to the end of a file, exactly as it is. Many may append at once. 8 units and 2 for each started KiB.",
			example: "echo 'step 1 done' | aanet append notes/log.txt",
			flags:   append([]option{{"stamp", "", "add a line that names the workspace, too"}}, guards...),
		},
		{
			name: "rm", group: groupWork, args: "PATH", min: 1, max: 1, summary: "delete a file", run: runRm,
			detail:  "Deletes one file. A directory is gone with its last file. 1 unit.",
			example: "aanet rm notes/log.txt",
			flags:   guards,
		},
	}
}

func runLs(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	for name, err := range agent.Entries(c.ctx, c.arg(0)) {
		if err != nil {
			return err
		}
		if c.on("json") {
			err = c.line(name)
		} else {
			c.say("%s", shown(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func runCat(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.ReadFileIn{Path: c.arg(0)}
	if in.MaxBytes, err = c.number("max-bytes"); err != nil {
		return err
	}
	if in.Offset, err = c.count("offset"); err != nil {
		return err
	}
	var folder bool
	err = show(c, func(raw client.CallOption) (client.ReadFileOut, error) { return agent.ReadFile(c.ctx, in, raw) },
		func(out client.ReadFileOut) {
			if folder = out.Content == nil; folder {
				return
			}
			_, _ = io.WriteString(c.Stdout, *out.Content)
			if out.NextOffset != nil {
				c.note("there is more: --offset %d", *out.NextOffset)
			}
		})
	if folder {
		return fmt.Errorf("%s is a directory: aanet ls %[1]s", c.arg(0))
	}
	return err
}

// content reads what is to be written: the named file, or standard input.
func (c *call) content() (string, error) {
	from := c.Stdin
	if name := c.arg(1); name != "" && name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, fileBytesMax+1))
	if err != nil {
		return "", err
	}
	if len(text) > fileBytesMax {
		return "", errors.New("that is over 1 MiB, the most that a file may have")
	}
	return string(text), nil
}

// fence is the lock of the surrounding lock run, with --fence.
func (c *call) fence() (name *string, token *int64, err error) {
	if !c.on("fence") {
		return nil, nil, nil
	}
	lock := c.getenv(variableLock)
	n, err := strconv.ParseInt(c.getenv(variableToken), 10, 64)
	if lock == "" || err != nil {
		return nil, nil, usagef("--fence is for commands within aanet lock run, which sets %s and %s", variableLock, variableToken)
	}
	return &lock, &n, nil
}

func runPut(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.WriteFileIn{Path: c.arg(0), IfMatch: c.text("if-match"), Stamp: c.on("stamp"), IfNoneMatch: c.on("create-only")}
	if in.LockName, in.FencingToken, err = c.fence(); err != nil {
		return err
	}
	if in.Content, err = c.content(); err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.WriteFileOut, error) { return agent.WriteFile(c.ctx, in, raw) },
		func(out client.WriteFileOut) {
			how := "replaced"
			if out.Created {
				how = "created"
			}
			c.say("%s %s, etag %s", how, shown(out.Path), out.Etag)
		})
}

func runAppend(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.AppendFileIn{Path: c.arg(0), IfMatch: c.text("if-match"), Stamp: c.on("stamp")}
	if in.LockName, in.FencingToken, err = c.fence(); err != nil {
		return err
	}
	if in.Content, err = c.content(); err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.AppendFileOut, error) { return agent.AppendFile(c.ctx, in, raw) },
		func(out client.AppendFileOut) {
			c.say("appended %d bytes to %s, etag %s", out.Appended, shown(out.Path), out.Etag)
		})
}

func runRm(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.DeleteFileIn{Path: c.arg(0), IfMatch: c.text("if-match")}
	if in.LockName, in.FencingToken, err = c.fence(); err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.DeleteFileOut, error) { return agent.DeleteFile(c.ctx, in, raw) },
		func(out client.DeleteFileOut) { c.say("deleted %s", shown(out.Path)) })
}
