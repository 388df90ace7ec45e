package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/apitest"
)

type args = apitest.Args

func TestFiles(t *testing.T) {
	play(t, apitest.Options{},
		scene{"write, read, delete", writeReadDelete},
		scene{"every write has its etag", etagsOfWrites},
		scene{"a condition that does not hold", staleConditions},
		scene{"how if_match is spelled", etagSpellings},
		scene{"texts come back as they were", contentFidelity},
		scene{"what is no text", contentRefused},
		scene{"one mebibyte", sizeLimit},
		scene{"stamps", stamps},
		scene{"prices by size", sizedPrices},
		scene{"files and directories do not share a name", filesAndDirectories},
		scene{"deleting", deleting},
		scene{"one spelling a path", pathSpellings},
		scene{"long names", longNames},
		scene{"slices at code points", slicesAtCodePoints},
	)
}

func writeReadDelete(t *testing.T, ws *apitest.Workspace) {
	agent := ws.Mint(t)
	made := agent.Costs(t, 10, "write_file", args{"path": "notes/a", "content": "hello"})
	same(t, "status of a new file", made.Status, 201)
	same(t, "created", made.Body["created"], any(true))
	same(t, "path", made.Text("path"), "notes/a")

	again := agent.Costs(t, 8, "write_file", args{"path": "notes/a", "content": ""})
	same(t, "status of a known file", again.Status, 200)
	same(t, "created again", again.Body["created"], any(false))

	read := agent.Costs(t, 1, "read_file", args{"path": "notes/a"})
	content, isText := read.Body["content"].(string)
	if !isText || content != "" {
		t.Errorf("an empty file has content %v", read.Body["content"])
	}
	same(t, "is_dir", read.Body["is_dir"], any(false))
	same(t, "entries of a file", read.Body["entries"], nil)
	same(t, "etag", read.Text("etag"), again.Text("etag"))

	gone := agent.Costs(t, 1, "delete_file", args{"path": "notes/a"})
	same(t, "deleted", gone.Body["deleted"], any(true))
	agent.Refused(t, "NOT_FOUND", "read_file", args{"path": "notes/a"})
	agent.Refused(t, "NOT_FOUND", "read_file", args{"path": "notes"})
	if *agent.OK(t, "get_remaining_balance", nil).Remaining != ws.Balance(t) {
		t.Error("a key without a cap may not spend the whole balance")
	}
}

func etagsOfWrites(t *testing.T, ws *apitest.Workspace) {
	a := ws.Owner.Write(t, "f", "A")
	b := ws.Owner.Write(t, "f", "B")
	again := ws.Owner.Write(t, "f", "A")
	if a == b || b == again || a == again {
		t.Errorf("A, B, A gave %s, %s, %s", a, b, again)
	}
	ws.Owner.Refused(t, "CONFLICT", "write_file", args{"path": "f", "content": "x", "if_match": a})
	ws.Owner.OK(t, "delete_file", args{"path": "f"})
	if reborn := ws.Owner.Write(t, "f", "A"); reborn == a || reborn == again {
		t.Errorf("a file that was deleted and made again has the old etag %s", reborn)
	}
	appended := ws.Owner.Append(t, "f", "")
	same(t, "etag after an empty append", ws.Owner.OK(t, "read_file", args{"path": "f"}).Text("etag"), appended)
}

func staleConditions(t *testing.T, ws *apitest.Workspace) {
	old := ws.Owner.Write(t, "f", "one")
	current := ws.Owner.Write(t, "f", "two")
	for tool, input := range map[string]args{
		"write_file":  {"path": "f", "content": "three", "if_match": old},
		"append_file": {"path": "f", "content": "three", "if_match": old},
		"delete_file": {"path": "f", "if_match": old},
	} {
		refused := ws.Owner.Refused(t, "CONFLICT", tool, input)
		same(t, tool+": current_etag", refused.Text("current_etag"), current)
	}
	for _, tool := range []string{"write_file", "append_file"} {
		refused := ws.Owner.Refused(t, "CONFLICT", tool, args{"path": "none", "content": "x", "if_match": old})
		if etag, given := refused.Body["current_etag"]; !given || etag != nil {
			t.Errorf("%s of a missing file: current_etag is %v (given: %v), want null", tool, etag, given)
		}
	}
	ws.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "none", "if_match": old})
	same(t, "content", ws.Owner.Read(t, "f"), "two")
}

func etagSpellings(t *testing.T, ws *apitest.Workspace) {
	for _, quote := range []string{"", `"`} {
		etag := ws.Owner.Write(t, "f", "one")
		ws.Owner.OK(t, "write_file", args{"path": "f", "content": "two", "if_match": quote + etag + quote})
	}
	etag := ws.Owner.Write(t, "f", "kept")
	for _, wrong := range []string{
		"", "*", `W/"` + etag + `"`, "W/" + etag, `"` + etag + `", "x"`, etag + "," + etag, " " + etag, etag + " ", `"` + etag, etag + `"`,
		`""`, `"*"`, "é", "a\tb", strings.Repeat("x", 300),
	} {
		for _, tool := range []string{"write_file", "append_file"} {
			ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"path": "f", "content": "x", "if_match": wrong})
		}
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "delete_file", args{"path": "f", "if_match": wrong})
	}
	ws.Owner.OK(t, "write_file", args{"path": "f", "content": "kept", "if_match": nil})
	same(t, "content", ws.Owner.Read(t, "f"), "kept")
}

func contentFidelity(t *testing.T, ws *apitest.Workspace) {
	for name, content := range map[string]string{
		"crlf": "a\r\nb\r\n", "bom": "\ufeffa", "trailing": "a \t \n\n", "separators": "a\u2028b\u2029c", "html": `<script>&"'</script>`,
		"emoji": "👩\u200d💻🏳️\u200d🌈", "escapes": `\u0041 \n \\ %41`, "replacement": "a\ufffdb", "controls": "\x01\x1b\x7f\u0085", "empty": "",
		"noncharacters": "\ufffe\U0010ffff", "quotes": `{"a": "(b,c)"}` + "'\\'$$",
	} {
		ws.Owner.Write(t, name, content)
		same(t, name, ws.Owner.Read(t, name), content)
		ws.Owner.Append(t, name, content)
		same(t, name+" twice", ws.Owner.Read(t, name), content+content)
	}
}

func contentRefused(t *testing.T, ws *apitest.Workspace) {
	etag := ws.Owner.Write(t, "f", "kept")
	for _, tool := range []string{"write_file", "append_file"} {
		for _, c := range []struct{ code, content string }{
			{"INVALID_ARGUMENT", `"a\u0000b"`}, {"INVALID_ARGUMENT", "null"}, {"INVALID_ARGUMENT", "7"}, {"INVALID_ARGUMENT", `["a"]`},
			{"MALFORMED", "\"\xff\""}, {"MALFORMED", "\"\xed\xa0\x80\""}, {"MALFORMED", "\"\xc0\x80\""}, {"MALFORMED", `"\ud800"`}, {"MALFORMED", `"\udc00\ud800"`},
		} {
			ws.Owner.Refused(t, c.code, tool, args{"path": "f", "content": json.RawMessage(c.content)})
		}
		ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"path": "f"})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"path": "f", "content": "x", "contents": "y"})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"path": "f", "Content": "x"})
	}
	read := ws.Owner.OK(t, "read_file", args{"path": "f"})
	if read.Text("content") != "kept" || read.Text("etag") != etag {
		t.Errorf("a refused write changed the file: %v", read.Body)
	}
}

func sizeLimit(t *testing.T, ws *apitest.Workspace) {
	most := strings.Repeat("é", api.FileBytesMax/2)
	ws.Owner.Costs(t, 8+2*1024, "write_file", args{"path": "big", "content": most})
	if ws.Owner.Read(t, "big") != most {
		t.Error("a file of one mebibyte did not come back")
	}
	ws.Owner.Refused(t, "TOO_LARGE", "write_file", args{"path": "big", "content": most + "x"})
	ws.Owner.Refused(t, "TOO_LARGE", "append_file", args{"path": "new", "content": most + "x"})
	ws.Owner.Refused(t, "TOO_LARGE", "append_file", args{"path": "big", "content": "x"})
	ws.Owner.Costs(t, 8, "append_file", args{"path": "big", "content": ""})
	ws.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "new"})

	ws.Owner.Write(t, "grows", most[:api.FileBytesMax-10])
	ws.Owner.Refused(t, "TOO_LARGE", "append_file", args{"path": "grows", "content": "12345678901"})
	ws.Owner.Append(t, "grows", "1234567890")
	same(t, "size", len(ws.Owner.Read(t, "grows")), api.FileBytesMax)
}

func stamps(t *testing.T, ws *apitest.Workspace) {
	stamp := "\n<!-- coordinated-via: aanet.space workspace_id=" + ws.ID + " -->\n"
	ws.Owner.OK(t, "write_file", args{"path": "f", "content": "text", "stamp": true})
	same(t, "stamped", ws.Owner.Read(t, "f"), "text"+stamp)
	appended := ws.Owner.OK(t, "append_file", args{"path": "f", "content": "more", "stamp": true})
	same(t, "appended", appended.Int("appended"), int64(len("more"+stamp)))
	same(t, "stamped twice", ws.Owner.Read(t, "f"), "text"+stamp+"more"+stamp)

	room := strings.Repeat("x", api.FileBytesMax-len(stamp))
	ws.Owner.Costs(t, 8+2*1024, "write_file", args{"path": "full", "content": room, "stamp": true})
	for _, tool := range []string{"write_file", "append_file"} {
		ws.Owner.Refused(t, "TOO_LARGE", tool, args{"path": "over", "content": room + "x", "stamp": true})
	}
	ws.Owner.Costs(t, 12, "write_file", args{"path": "g", "content": strings.Repeat("x", 1024), "stamp": true})
}

func sizedPrices(t *testing.T, ws *apitest.Workspace) {
	for bytes, units := range map[int]int64{0: 8, 1: 10, 1024: 10, 1025: 12, 2048: 12, 2049: 14, 10_000: 28} {
		content := strings.Repeat("x", bytes)
		ws.Owner.Costs(t, units, "write_file", args{"path": "f", "content": content})
		ws.Owner.Costs(t, units, "append_file", args{"path": "f", "content": content})
	}
	ws.Owner.Costs(t, 12, "write_file", args{"path": "f", "content": strings.Repeat("é", 513)})
}

func filesAndDirectories(t *testing.T, ws *apitest.Workspace) {
	ws.Owner.Write(t, "a/b", "x")
	for _, tool := range []string{"write_file", "append_file"} {
		ws.Owner.Refused(t, "IS_DIRECTORY", tool, args{"path": "a", "content": ""})
		ws.Owner.Refused(t, "NOT_A_DIRECTORY", tool, args{"path": "a/b/c", "content": ""})
		ws.Owner.Refused(t, "NOT_A_DIRECTORY", tool, args{"path": "a/b/c/d", "content": ""})
	}
	ws.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "a/b/c"})
	ws.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "a/b/c"})
	ws.Owner.OK(t, "delete_file", args{"path": "a/b"})
	ws.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "a"})
	ws.Owner.Write(t, "a", "now a file")
	same(t, "content", ws.Owner.Read(t, "a"), "now a file")

	for _, neighbour := range []string{"n0/x", "n./x", "n-/x", "n1", "n!", "m/n/x"} {
		ws.Owner.Write(t, neighbour, "")
	}
	for _, tool := range []string{"read_file", "delete_file"} { // names that begin alike are no children
		ws.Owner.Refused(t, "NOT_FOUND", tool, args{"path": "n"})
	}
	ws.Owner.Write(t, "n", "")
}

func deleting(t *testing.T, ws *apitest.Workspace) {
	etag := ws.Owner.Write(t, "d/f", "x")
	current := ws.Owner.Write(t, "d/f", "y")
	ws.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "none"})
	ws.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "none", "if_match": etag})
	ws.Owner.Refused(t, "IS_DIRECTORY", "delete_file", args{"path": "d"})
	ws.Owner.Refused(t, "IS_DIRECTORY", "delete_file", args{"path": "d", "if_match": current})
	ws.Owner.Refused(t, "CONFLICT", "delete_file", args{"path": "d/f", "if_match": etag})
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "delete_file", args{"path": ""})
	same(t, "still there", ws.Owner.Read(t, "d/f"), "y")
	ws.Owner.Costs(t, 1, "delete_file", args{"path": "d/f", "if_match": current})
	ws.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "d/f"})
}

// TestCreateOnly is for the one input that only a header gives.
func TestCreateOnly(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{}).Workspace(t, 1000)
	only := args{"path": "f", "content": "first", "if_none_match": api.FromHeader(true)}
	made := ws.Owner.OK(t, "write_file", only)
	same(t, "created", made.Body["created"], any(true))
	refused := ws.Owner.Refused(t, "CONFLICT", "write_file", only)
	same(t, "current_etag", refused.Text("current_etag"), made.Text("etag"))
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": "g", "content": "x", "if_none_match": true})
	ws.Owner.Write(t, "d/f", "x")
	only["path"] = "d"
	ws.Owner.Refused(t, "IS_DIRECTORY", "write_file", only)
	same(t, "content", ws.Owner.Read(t, "f"), "first")
	ws.CheckLedger(t)
}
