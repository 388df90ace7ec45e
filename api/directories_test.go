package api_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aanet/api/apitest"
)

func TestDirectories(t *testing.T) {
	play(t, apitest.Options{},
		scene{"children only", childrenOnly},
		scene{"the root", theRoot},
		scene{"pages", pages},
		scene{"any names, any page", anyNames},
		scene{"a big directory", bigDirectory},
		scene{"a directory goes with its last file", vanishing},
		scene{"within a scope", scopedListing},
	)
}

func childrenOnly(t *testing.T, ws *apitest.Workspace) {
	for _, path := range []string{"d/a", "d/b/c", "d/b/e", "d2/x", "d_x/1", "dXx/2", "d%x/3", "d/b0", "d/b.c", "d/b/c0/x"} {
		ws.Owner.Write(t, path, "x")
	}
	read := ws.Owner.Costs(t, 1, "read_file", args{"path": "d"})
	same(t, "d", fmt.Sprint(read.Texts("entries")), "[a b.c b/ b0]")
	same(t, "is_dir", read.Body["is_dir"], any(true))
	same(t, "content", read.Body["content"], nil)
	same(t, "etag", read.Body["etag"], nil)
	same(t, "next_after", read.Body["next_after"], nil)
	same(t, "d/b", fmt.Sprint(ws.Owner.List(t, "d/b")), "[c c0/ e]")
	same(t, "d_x", fmt.Sprint(ws.Owner.List(t, "d_x")), "[1]")
	same(t, "d%x", fmt.Sprint(ws.Owner.List(t, "d%x")), "[3]")
}

func theRoot(t *testing.T, ws *apitest.Workspace) {
	for _, root := range []string{"", "/"} {
		if entries := ws.Owner.List(t, root); entries == nil || len(entries) != 0 {
			t.Errorf("the empty root %q lists %v", root, entries)
		}
	}
	ws.Owner.Write(t, "z", "x")
	ws.Owner.Write(t, "a/b", "x")
	same(t, "root", fmt.Sprint(ws.Owner.List(t, "")), "[a/ z]")
	same(t, "root by its other name", fmt.Sprint(ws.Owner.List(t, "/")), "[a/ z]")
}

// listed reads a directory page by page.
func listed(t *testing.T, a apitest.Agent, path string, limit int) []string {
	t.Helper()
	all := []string{}
	in := args{"path": path, "limit": limit}
	for {
		read := a.OK(t, "read_file", in)
		page := read.Texts("entries")
		all = append(all, page...)
		next := read.Body["next_after"]
		if next == nil {
			return all
		}
		if len(page) != limit || next != any(page[len(page)-1]) {
			t.Fatalf("a page of %d after %q has %v and next_after %v", limit, in["after"], page, next)
		}
		in["after"] = next
	}
}

func pages(t *testing.T, ws *apitest.Workspace) {
	for _, path := range []string{"d/a", "d/b/1", "d/b/2", "d/b0", "d/c/1/2/3", "d/c/4"} {
		ws.Owner.Write(t, path, "x")
	}
	for limit := 1; limit <= 6; limit++ {
		same(t, fmt.Sprint("by ", limit), fmt.Sprint(listed(t, ws.Owner, "d", limit)), "[a b/ b0 c/]")
	}
	for after, want := range map[string]string{"a": "[b/ b0 c/]", "b": "[b/ b0 c/]", "b/": "[b0 c/]", "b0": "[c/]", "c/": "[]", "zzz": "[]", " ": "[a b/ b0 c/]"} {
		read := ws.Owner.OK(t, "read_file", args{"path": "d", "after": after})
		same(t, "after "+after, fmt.Sprint(read.Texts("entries")), want)
	}
	for _, wrong := range []any{"", "a/b", "/", "b//", "a\x00"} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "read_file", args{"path": "d", "after": wrong})
	}
	ws.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "none", "after": "a"})
}

// anyNames compares listings with what a sort of the names gives, with bytes on both sides of '/'.
func anyNames(t *testing.T, ws *apitest.Workspace) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "!", ".b", "-", "0", "/", "/", "é", "~", " ", "\U0010ffff", "_", "%"}
	var paths []string
	for range 60 {
		path := "r"
		for range 2 + random.IntN(5) {
			path += alphabet[random.IntN(len(alphabet))]
		}
		path = strings.TrimRight(strings.ReplaceAll(strings.ReplaceAll(path, "//", "/"), "//", "/"), "/")
		if ws.Owner.Call(t, "write_file", args{"path": path, "content": ""}).Code == "" {
			paths = append(paths, path)
		}
	}
	directories := map[string]map[string]bool{"": {}}
	for _, path := range paths {
		at := ""
		for segment := range strings.SplitSeq(path, "/") {
			child := strings.TrimPrefix(at+"/"+segment, "/")
			shown := segment
			if child != path {
				shown += "/"
			}
			if directories[at] == nil {
				directories[at] = map[string]bool{}
			}
			directories[at][shown] = true
			at = child
		}
	}
	if len(directories) < 5 {
		t.Fatalf("only %d directories came about", len(directories))
	}
	for path, children := range directories {
		var want []string
		for child := range children {
			want = append(want, child)
		}
		slices.Sort(want)
		for _, limit := range []int{1, 3, 1000} {
			same(t, fmt.Sprintf("%q by %d", path, limit), fmt.Sprintf("%q", listed(t, ws.Owner, path, limit)), fmt.Sprintf("%q", want))
		}
	}
}

func bigDirectory(t *testing.T, ws *apitest.Workspace) {
	apitest.Together(20, func(i int) {
		for j := range 60 {
			ws.Owner.Write(t, fmt.Sprintf("big/%02d-%02d", i, j), "")
		}
	})
	ws.Owner.Write(t, "big/10-/deep/er", "")
	all := listed(t, ws.Owner, "big", 1000)
	if len(all) != 1201 || !slices.IsSorted(all) {
		t.Errorf("%d entries are listed, sorted: %v", len(all), slices.IsSorted(all))
	}
	same(t, "entries without a limit", len(ws.Owner.List(t, "big")), 1000)
}

func vanishing(t *testing.T, ws *apitest.Workspace) {
	ws.Owner.Write(t, "d/e/f", "x")
	ws.Owner.Write(t, "d/g", "x")
	ws.Owner.OK(t, "delete_file", args{"path": "d/e/f"})
	same(t, "d", fmt.Sprint(ws.Owner.List(t, "d")), "[g]")
	ws.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "d/e"})
	ws.Owner.Write(t, "d/e", "a file now")
	same(t, "d", fmt.Sprint(ws.Owner.List(t, "d")), "[e g]")
}

func scopedListing(t *testing.T, ws *apitest.Workspace) {
	agent := ws.MintWith(t, args{"path_scope_prefix": "notes/"})
	ws.Owner.Write(t, "notes-secret/x", "x")
	ws.Owner.Write(t, "other", "x")
	agent.Refused(t, "NOT_FOUND", "read_file", args{"path": "notes"})
	agent.Write(t, "notes/a/b", "x")
	same(t, "notes", fmt.Sprint(agent.List(t, "notes")), "[a/]")
	for _, path := range []string{"", "/", "notes-secret", "notes-secret/x", "other", "none", "note", "notesx", "NOTES/a"} {
		refused := agent.Refused(t, "SCOPE_DENIED", "read_file", args{"path": path})
		if strings.Contains(fmt.Sprint(refused.Body), "current_etag") {
			t.Errorf("SCOPE_DENIED tells more: %v", refused.Body)
		}
	}
	deep := ws.MintWith(t, args{"path_scope_prefix": "notes/a"})
	deep.Refused(t, "SCOPE_DENIED", "read_file", args{"path": "notes"})
	same(t, "notes/a", fmt.Sprint(deep.List(t, "notes/a")), "[b]")
}
