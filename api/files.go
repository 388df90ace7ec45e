package api

import (
	"context"
	"unicode/utf8"

	"aanet/billing"
)

// FileBytesMax is the size limit of a file in bytes of UTF-8, the stamp included.
const FileBytesMax = 1 << 20

const filePath = workspacePath + "/files/{path...}"

func fileOps() []*Op {
	return []*Op{
		op(Def{
			Name: "read_file", Log: "GET_FILE", Method: "GET", Path: filePath, Who: AnyKey, Price: billing.PriceOf("read_file"),
			Subject: "path", ReadOnly: true, Idempotent: true,
			Summary: "Read a file or directory.",
			Doc: `A text file with its etag, or a directory's entries (directories end with "/"; "" is the root). Many clients cut results at 50,000 characters: read ` +
				`big files in parts, max_bytes 32768, then offset = next_offset until null; directories with limit, then after = next_after. Costs 1 unit a call. ` +
				`Refusals: NOT_FOUND, SCOPE_DENIED, 402.`,
			Parts: "Read a file in parts: max_bytes 32768, then offset = next_offset until it is null, while the etag stays the same. A directory: limit, then after = next_after.",
		}, readFile),
		op(Def{
			Name: "write_file", Log: "PUT_FILE", Method: "PUT", Path: filePath, Who: AnyKey, Price: billing.PriceOf("write_file"),
			Subject: "path", Destructive: true, Idempotent: true,
			Summary: "Write a file.",
			Doc: `Creates or replaces a text file of at most 1 MiB; directories come from paths. if_match: only while it has that etag, else CONFLICT with current_etag: ` +
				`read, merge, retry. lock_name and fencing_token: only while you hold that lock, else STALE_FENCE. Costs 8 units + 2 per started KiB. Refusals: ` +
				`CONFLICT, STALE_FENCE, IS_DIRECTORY, NOT_A_DIRECTORY, TOO_LARGE, SCOPE_DENIED, 402.`,
		}, writeFile),
		op(Def{
			Name: "append_file", Log: "APPEND_FILE", Method: "POST", Path: filePath, Who: AnyKey, Price: billing.PriceOf("append_file"),
			Subject: "path", Summary: "Append to a file.",
			Doc: `Adds text to the end of a file exactly as given (no newline is added); creates a missing file. Parallel appends all arrive whole. At most 1 MiB in ` +
				`all. if_match, lock_name and fencing_token as in write_file. Costs 8 units + 2 per started KiB appended. Refusals: CONFLICT, STALE_FENCE, ` +
				`IS_DIRECTORY, NOT_A_DIRECTORY, TOO_LARGE, SCOPE_DENIED, 402.`,
		}, appendFile),
		op(Def{
			Name: "delete_file", Log: "DELETE_FILE", Method: "DELETE", Path: filePath, Who: AnyKey, Price: billing.PriceOf("delete_file"),
			Subject: "path", Destructive: true,
			Summary: "Delete a file.",
			Doc: `Deletes a file; a directory goes with its last file. if_match, lock_name and fencing_token as in write_file. Costs 1 unit. Refusals: NOT_FOUND, ` +
				`CONFLICT, STALE_FENCE, IS_DIRECTORY, SCOPE_DENIED, 402.`,
		}, deleteFile),
	}
}

// ReadFileIn is the input of read_file.
type ReadFileIn struct {
	Path     string  `json:"path" check:"directory" doc:"File or directory."`
	Limit    int64   `json:"limit" min:"1" max:"1000" default:"1000" doc:"Directory: most entries."`
	After    *string `json:"after" check:"cursor" null:"unlisted" doc:"Directory: the last next_after."`
	Offset   int64   `json:"offset" min:"0" default:"0" doc:"File: the last next_offset, in bytes."`
	MaxBytes *int64  `json:"max_bytes" min:"1" max:"1048576" null:"unlisted" doc:"File: most bytes, cut at a character."`
}

// ReadFileOut is a file (content and etag) or a directory (entries); the others are null.
type ReadFileOut struct {
	Path       string   `json:"path"`
	Content    *string  `json:"content"`
	IsDir      bool     `json:"is_dir"`
	Entries    []string `json:"entries"`
	Etag       *string  `json:"etag"`
	NextAfter  *string  `json:"next_after"`
	NextOffset *int64   `json:"next_offset"`
}

// EntityTag is the etag for the HTTP header; empty for a directory.
func (o ReadFileOut) EntityTag() string {
	if o.Etag == nil {
		return ""
	}
	return *o.Etag
}

func readFile(ctx context.Context, c *Caller, in ReadFileIn) (ReadFileOut, error) {
	path := in.Path
	if path == "/" {
		path = ""
	}
	out := ReadFileOut{Path: path}
	err := c.do(ctx, fn{
		name: "read_file", price: c.op.Price.Base, args: []any{path, in.After, in.Limit},
		into: []any{&out.IsDir, &out.Content, &out.Etag, &out.Entries, &out.NextAfter},
	})
	if err != nil {
		return ReadFileOut{}, err
	}
	if !out.IsDir {
		out.slice(in.Offset, in.MaxBytes)
	}
	return out, nil
}

// slice keeps the bytes from offset on, at most most of them, cut at code points. An offset inside a
// code point moves to the next one, and at least one is returned, so that a reader always gets on.
func (o *ReadFileOut) slice(offset int64, most *int64) {
	content := *o.Content
	start := min(offset, int64(len(content)))
	for start < int64(len(content)) && !utf8.RuneStart(content[start]) {
		start++
	}
	end := int64(len(content))
	if most != nil && start+*most < end {
		end = start + *most
		for end > start && !utf8.RuneStart(content[end]) {
			end--
		}
		if end == start {
			_, size := utf8.DecodeRuneInString(content[start:])
			end += int64(size)
		}
	}
	if end < int64(len(content)) {
		o.NextOffset = &end
	}
	content = content[start:end]
	o.Content = &content
}

// WriteFileIn is the input of write_file and append_file.
type WriteFileIn struct {
	Path    string  `json:"path" check:"path" doc:"1-1024 bytes, segments of 1-255 between \"/\"."`
	Content string  `json:"content" check:"content" doc:"Text without NUL."`
	IfMatch *string `json:"if_match" check:"etag" doc:"Only at this etag."`
	Stamp   bool    `json:"stamp" default:"false" doc:"Add a line that names the workspace."`

	LockName     *string `json:"lock_name" check:"lock" null:"unlisted" doc:"Only while you hold this lock."`
	FencingToken *int64  `json:"fencing_token" min:"1" max:"9007199254740991" null:"unlisted" doc:"Of acquire_lock, for lock_name."`

	// CreateOnly is If-None-Match: * of REST.
	CreateOnly bool `json:"if_none_match" default:"false" rest:"header"`
}

// stampBytes is the length of every stamp: a workspace id has 36 characters.
var stampBytes = len(stampOf("00000000-0000-0000-0000-000000000000"))

func stampOf(workspace string) string {
	return "\n<!-- coordinated-via: aanet.space workspace_id=" + workspace + " -->\n"
}

func (in WriteFileIn) tooLarge() *Refusal {
	size := len(in.Content)
	if in.Stamp {
		size += stampBytes
	}
	if size > FileBytesMax {
		return refusef(TooLarge, "The text has %d bytes, the stamp included; a file may have %d.", size, FileBytesMax)
	}
	return nil
}

// text is what is stored: the content, with the stamp when it was asked for.
func (in WriteFileIn) text(c *Caller) string {
	if in.Stamp {
		return in.Content + stampOf(c.Workspace().String())
	}
	return in.Content
}

func (in WriteFileIn) fault() (*FieldFault, []string) {
	return fenceFault(in.LockName, in.FencingToken)
}

func (in AppendFileIn) fault() (*FieldFault, []string) {
	return fenceFault(in.LockName, in.FencingToken)
}

func (in DeleteFileIn) fault() (*FieldFault, []string) {
	return fenceFault(in.LockName, in.FencingToken)
}

// fenceFault refuses a lock without its token and a token without its lock: half a fence keeps nobody out.
func fenceFault(lock *string, token *int64) (*FieldFault, []string) {
	both := []string{"lock_name", "fencing_token"}
	switch {
	case (lock == nil) == (token == nil):
		return nil, nil
	case lock == nil:
		return &FieldFault{"lock_name", "is needed with fencing_token"}, both
	}
	return &FieldFault{"fencing_token", "is needed with lock_name"}, both
}

// WriteFileOut is the output of write_file.
type WriteFileOut struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
	Etag    string `json:"etag"`
}

// EntityTag is the etag for the HTTP header.
func (o WriteFileOut) EntityTag() string { return o.Etag }

func (o WriteFileOut) isNew() bool { return o.Created }

func writeFile(ctx context.Context, c *Caller, in WriteFileIn) (WriteFileOut, error) {
	text := in.text(c)
	out := WriteFileOut{Path: in.Path}
	err := c.do(ctx, fn{
		name: "write_file", price: c.op.Price.For(len(text)), size: len(text),
		args: []any{in.Path, Ancestors(in.Path), text, len(text), in.IfMatch, in.CreateOnly, in.LockName, in.FencingToken},
		into: []any{&out.Etag, &out.Created}, once: true,
	})
	return out, err
}

// AppendFileIn is the input of append_file.
type AppendFileIn struct {
	Path    string  `json:"path" check:"path" doc:"1-1024 bytes, segments of 1-255 between \"/\"."`
	Content string  `json:"content" check:"content" doc:"Text without NUL."`
	IfMatch *string `json:"if_match" check:"etag" doc:"Only at this etag."`
	Stamp   bool    `json:"stamp" default:"false" doc:"Add a line that names the workspace."`

	LockName     *string `json:"lock_name" check:"lock" null:"unlisted" doc:"Only while you hold this lock."`
	FencingToken *int64  `json:"fencing_token" min:"1" max:"9007199254740991" null:"unlisted" doc:"Of acquire_lock, for lock_name."`
}

func (in AppendFileIn) tooLarge() *Refusal {
	return WriteFileIn{Content: in.Content, Stamp: in.Stamp}.tooLarge()
}

// AppendFileOut is the output of append_file; Appended counts bytes.
type AppendFileOut struct {
	Path     string `json:"path"`
	Appended int    `json:"appended"`
	Etag     string `json:"etag"`

	created bool
}

// EntityTag is the etag for the HTTP header.
func (o AppendFileOut) EntityTag() string { return o.Etag }

func (o AppendFileOut) isNew() bool { return o.created }

func appendFile(ctx context.Context, c *Caller, in AppendFileIn) (AppendFileOut, error) {
	text := WriteFileIn{Content: in.Content, Stamp: in.Stamp}.text(c)
	out := AppendFileOut{Path: in.Path, Appended: len(text)}
	err := c.do(ctx, fn{
		name: "append_file", price: c.op.Price.For(len(text)), size: len(text),
		args: []any{in.Path, Ancestors(in.Path), text, len(text), in.IfMatch, FileBytesMax, in.LockName, in.FencingToken},
		into: []any{&out.Etag, &out.created}, once: true,
	})
	return out, err
}

// DeleteFileIn is the input of delete_file.
type DeleteFileIn struct {
	Path    string  `json:"path" check:"path" doc:"The file."`
	IfMatch *string `json:"if_match" check:"etag" doc:"Only at this etag."`

	LockName     *string `json:"lock_name" check:"lock" null:"unlisted" doc:"Only while you hold this lock."`
	FencingToken *int64  `json:"fencing_token" min:"1" max:"9007199254740991" null:"unlisted" doc:"Of acquire_lock, for lock_name."`
}

// DeleteFileOut is the output of delete_file.
type DeleteFileOut struct {
	Path    string `json:"path"`
	Deleted bool   `json:"deleted"`
}

func deleteFile(ctx context.Context, c *Caller, in DeleteFileIn) (DeleteFileOut, error) {
	err := c.do(ctx, fn{
		name: "delete_file", price: c.op.Price.Base, once: true,
		args: []any{in.Path, in.IfMatch, in.LockName, in.FencingToken},
	})
	return DeleteFileOut{Path: in.Path, Deleted: true}, err
}
