package api_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/store/storetest"
)

func TestAppends(t *testing.T) {
	play(t, apitest.Options{},
		scene{"append makes, then adds", appendBasics},
		scene{"many appends read as one text", manyAppends},
		scene{"a write, a delete and a new file start afresh", appendAfterReplace},
		scene{"a large piece between small ones", largeBetweenSmall},
	)
}

func appendBasics(t *testing.T, ws *apitest.Workspace) {
	made := ws.Owner.Costs(t, 10, "append_file", args{"path": "log", "content": "é\n"})
	if made.Status != 0 { // MCP has none
		same(t, "status of a new file", made.Status, 201)
	}
	same(t, "appended", made.Int("appended"), 3)
	same(t, "path", made.Text("path"), "log")
	more := ws.Owner.OK(t, "append_file", args{"path": "log", "content": "two", "if_match": made.Text("etag")})
	if more.Status != 0 {
		same(t, "status of a known file", more.Status, 200)
	}
	ws.Owner.Refused(t, "CONFLICT", "append_file", args{"path": "log", "content": "x", "if_match": made.Text("etag")})
	read := ws.Owner.OK(t, "read_file", args{"path": "log"})
	same(t, "content", read.Text("content"), "é\ntwo")
	same(t, "etag", read.Text("etag"), more.Text("etag"))
	ws.Owner.OK(t, "append_file", args{"path": "empty", "content": ""})
	same(t, "an empty append makes a file", ws.Owner.Read(t, "empty"), "")
}

// manyAppends crosses every border inside: the first piece, the chunks, their merging, large chunks.
func manyAppends(t *testing.T, ws *apitest.Workspace) {
	random := rand.New(rand.NewPCG(3, 4))
	var want strings.Builder
	etags := map[string]bool{}
	for i := range 300 {
		text := fmt.Sprintf("<%d>", i)
		switch {
		case i%70 == 69:
			text += strings.Repeat("L", 66_000)
		case i%9 == 0:
			text += strings.Repeat("m", random.IntN(3_000))
		case i%31 == 0:
			text = ""
		}
		want.WriteString(text)
		etags[ws.Owner.Append(t, "log", text)] = true
		if i%64 == 0 || i%64 == 63 || i > 295 {
			if got := ws.Owner.Read(t, "log"); got != want.String() {
				t.Fatalf("after %d appends the file has %d bytes and differs from the %d appended", i+1, len(got), want.Len())
			}
		}
	}
	same(t, "different etags", len(etags), 300)
	// Small pieces are joined, or reading would slow down with each append: more than 150 left divide by zero.
	storetest.Exec(t, ws.DSN, `select 1 / (count(*) <= 150)::int from file_chunks where workspace_id = $1::uuid`, ws.ID)
	slice := ws.Owner.OK(t, "read_file", args{"path": "log", "offset": want.Len() - 5})
	same(t, "the end", slice.Text("content"), "<299>")
}

func appendAfterReplace(t *testing.T, ws *apitest.Workspace) {
	chunked := func() {
		ws.Owner.Append(t, "f", strings.Repeat("x", 5_000))
		ws.Owner.Append(t, "f", "chunk 1")
		ws.Owner.Append(t, "f", "chunk 2")
	}
	chunked()
	ws.Owner.Write(t, "f", "new")
	same(t, "after a write", ws.Owner.Read(t, "f"), "new")
	ws.Owner.Append(t, "f", "er")
	same(t, "after a write and an append", ws.Owner.Read(t, "f"), "newer")
	chunked()
	ws.Owner.OK(t, "delete_file", args{"path": "f"})
	ws.Owner.Append(t, "f", "again")
	same(t, "after a delete", ws.Owner.Read(t, "f"), "again")
	chunked()
	same(t, "after new chunks", ws.Owner.Read(t, "f"), "again"+strings.Repeat("x", 5_000)+"chunk 1chunk 2")
}

func largeBetweenSmall(t *testing.T, ws *apitest.Workspace) {
	want := ""
	add := func(text string) {
		want += text
		ws.Owner.Append(t, "f", text)
	}
	add(strings.Repeat("a", 4_096))
	for i := range 63 {
		add(fmt.Sprint(i, ";"))
	}
	add(strings.Repeat("b", 70_000)) // the 64th chunk: it is large itself
	for i := range 130 {
		add(fmt.Sprint(i, ";"))
	}
	if ws.Owner.Read(t, "f") != want {
		t.Error("the file is not what was appended")
	}
	add(strings.Repeat("c", api.FileBytesMax-len(want)))
	ws.Owner.Refused(t, "TOO_LARGE", "append_file", args{"path": "f", "content": "x"})
	if ws.Owner.Read(t, "f") != want {
		t.Error("the full file is not what was appended")
	}
}
