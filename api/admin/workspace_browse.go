package admin

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"aanet/api"
	"aanet/store"
)

// filterMax is how long a filter may be, in bytes; a longer one matches nothing anyway.
const filterMax = 300

type activityPage struct {
	Head                      workspaceHead
	Subkey, Operation, Status string // as asked for
	Refused                   bool
	Rows                      []store.ActivityRow
	Pager                     pager
	Looked                    int // rows of the log that were looked at, when there may be more
}

func (d *door) workspaceActivity(v *visit) error {
	head, err := d.headOf(v, "/activity")
	if err != nil {
		return err
	}
	page := activityPage{
		Head: head, Subkey: v.filter("key"), Operation: strings.ToUpper(v.filter("operation")), Status: strings.ToUpper(v.filter("status")),
		Refused: v.r.URL.Query().Get("refused") != "",
	}
	view := store.ActivityView{Operation: page.Operation, Status: page.Status, Refused: page.Refused, Limit: pageRows}
	if page.Subkey != "" {
		id, ok := api.ParseID(page.Subkey)
		if !ok { // no key has it
			return v.showPart("workspace_activity.html", head, "Activity", page)
		}
		view.Subkey = &id
	}
	v.after(&view.Before)
	rows, next, err := d.Store.ViewActivity(v.ctx(), head.ID, view)
	if err != nil {
		return err
	}
	page.Rows = rows
	page.Pager, err = v.before(next)
	if err != nil {
		return err
	}
	if next > 0 && len(rows) < pageRows {
		page.Looked = store.ActivityLook
	}
	return v.showPart("workspace_activity.html", head, "Activity", page)
}

// filter reads a filter of the address.
func (v *visit) filter(name string) string {
	text := strings.TrimSpace(v.r.URL.Query().Get(name))
	if len(text) > filterMax || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	return text
}

type filesPage struct {
	Head  workspaceHead
	Path  string
	Steps []tab // the directories above, from the root
	Rows  []fileRow
	Pager pager
}

type fileRow struct {
	store.ViewedFile
	Path  string // of a directory's page; empty: a file, which nobody but the tenant may open
	Bytes int64
}

// workspaceFiles shows names and sizes. Contents are the tenant's.
func (d *door) workspaceFiles(v *visit) error {
	head, err := d.headOf(v, "/files")
	if err != nil {
		return err
	}
	path := v.r.URL.Query().Get("path")
	if len(path) > 1024 || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return errNotFound
	}
	var after *string
	if name := new(string); v.after(name) {
		after = name
	}
	files, next, err := d.Store.ViewDirectory(v.ctx(), head.ID, path, after, pageRows)
	if err != nil {
		return err
	}
	page := filesPage{Head: head, Path: path, Steps: stepsTo(head.Path+"/files", path)}
	page.Pager, err = v.behind(next)
	if err != nil {
		return err
	}
	for _, f := range files {
		row := fileRow{ViewedFile: f}
		if name, isDirectory := strings.CutSuffix(f.Name, "/"); isDirectory {
			row.Path = directoryPath(head.Path+"/files", joined(path, name))
		} else if f.Size != nil { // else it was deleted a moment ago
			row.Bytes = *f.Size
		}
		page.Rows = append(page.Rows, row)
	}
	return v.showPart("workspace_files.html", head, "Files", page)
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func directoryPath(page, path string) string { return page + "?" + url.Values{"path": {path}}.Encode() }

// stepsTo are the directories on the way to a path, the root first.
func stepsTo(page, path string) []tab {
	steps := []tab{{page, "All files", path == ""}}
	if path == "" {
		return steps
	}
	at := ""
	for name := range strings.SplitSeq(path, "/") {
		at = joined(at, name)
		steps = append(steps, tab{directoryPath(page, at), name, at == path})
	}
	return steps
}
