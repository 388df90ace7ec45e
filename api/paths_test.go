package api_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"aanet/api/apitest"
)

// randomText is hard to compress, so an index that holds it whole shows its limit.
func randomText(n int) string {
	b := make([]byte, n/2+1)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)[:n]
}

func pathSpellings(t *testing.T, ws *apitest.Workspace) {
	ws.Owner.Write(t, "a/b", "kept")
	for _, path := range []string{
		"/a/b", "a/b/", "a//b", "./a/b", "a/./b", "a/../a/b", "..", ".", "../x", "a/..", `a\b`, "a\nb", "a\tb", "a\x00b", "a\x7f", "a\u0085b", "//",
		strings.Repeat("d/", 64) + "f",
	} {
		for _, tool := range []string{"write_file", "append_file"} {
			ws.Owner.Refused(t, "INVALID_ARGUMENT", tool, args{"path": path, "content": "x"})
		}
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "read_file", args{"path": path})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "delete_file", args{"path": path})
	}
	deepest := strings.Repeat("d/", 63) + "f"
	ws.Owner.Write(t, deepest, "deep")
	distinct := []string{
		"caf\u00e9", "cafe\u0301", "A/x", "Ａ/x", "a／b", "．．", "\u202ea", "👩\u200d💻", "a b", " a", "a ", "%41", "%2e%2e", "a%2Fb", "a?b#c&d=e;f", "a:b", "a'b\"", "*",
		"append", "x/append", "x/_lock", "files", "stream", "trial", "activity/summary", "-", "~", "...", "..a", "a..", ".hidden",
	}
	for i, path := range distinct {
		made := ws.Owner.OK(t, "write_file", args{"path": path, "content": fmt.Sprint(i)})
		same(t, "stored path", made.Text("path"), path)
		same(t, "created "+path, made.Body["created"], any(true))
	}
	for i, path := range distinct {
		same(t, path, ws.Owner.Read(t, path), fmt.Sprint(i))
	}
	same(t, "the first file", ws.Owner.Read(t, "a/b"), "kept")
}

func longNames(t *testing.T, ws *apitest.Workspace) {
	var segments []string
	for range 4 {
		segments = append(segments, randomText(255))
	}
	longest := strings.Join(segments, "/") + "/" + randomText(0) // 1,024 bytes with the last slash
	longest = longest[:1019] + "/" + randomText(4)
	same(t, "length", len(longest), 1024)
	ws.Owner.Write(t, longest, "far")
	same(t, "read", ws.Owner.Read(t, longest), "far")
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": longest + "x", "content": ""})
	ws.Owner.Write(t, randomText(255), "wide")
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": randomText(256), "content": ""})
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": strings.Repeat("😀", 64), "content": ""})
	ws.Owner.Acquire(t, randomText(255), 60)
	ws.Owner.OK(t, "send_message", args{"body": "b", "topic": randomText(255)})
	ws.MintWith(t, args{"path_scope_prefix": longest})
	for _, n := range []int{1025, 3_000, 10_000} {
		long := randomText(n)
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "read_file", args{"path": long})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "acquire_lock", args{"name": long, "lease_seconds": 1})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "send_message", args{"body": "b", "topic": long})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_messages", args{"topic": long})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", args{"label": long})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", args{"label": "l", "path_scope_prefix": long})
	}
}

func slicesAtCodePoints(t *testing.T, ws *apitest.Workspace) {
	text := "aé€😀z" // 1, 2, 3, 4 and 1 bytes
	ws.Owner.Write(t, "f", text)
	for _, c := range []struct {
		offset, most int
		want         string
		next         int64
	}{
		{0, 100, text, -1}, {0, 11, text, -1}, {0, 10, "aé€😀", 10}, {0, 9, "aé€", 6}, {0, 1, "a", 1}, {1, 1, "é", 3}, {2, 1, "€", 6},
		{3, 2, "€", 6}, {6, 3, "😀", 10}, {6, 4, "😀", 10}, {6, 5, "😀z", -1}, {7, 5, "z", -1}, {11, 1, "", -1}, {5_000, 1, "", -1},
	} {
		read := ws.Owner.OK(t, "read_file", args{"path": "f", "offset": c.offset, "max_bytes": c.most})
		what := fmt.Sprintf("%d bytes from %d", c.most, c.offset)
		same(t, what, read.Text("content"), c.want)
		same(t, what+": next_offset", read.Int("next_offset"), c.next)
	}
	same(t, "from 3 on", ws.Owner.OK(t, "read_file", args{"path": "f", "offset": 3}).Text("content"), "€😀z")
	for _, most := range []int{1, 2, 3, 5, 7} {
		whole, offset := "", int64(0)
		for range 20 {
			read := ws.Owner.OK(t, "read_file", args{"path": "f", "offset": offset, "max_bytes": most})
			whole += read.Text("content")
			if offset = read.Int("next_offset"); offset < 0 {
				break
			}
		}
		same(t, fmt.Sprintf("in slices of %d", most), whole, text)
	}
	for _, wrong := range []args{{"offset": -1}, {"max_bytes": 0}, {"max_bytes": 1<<20 + 1}, {"offset": 1.5}, {"offset": "x"}, {"limit": 0}, {"limit": 1001}} {
		wrong["path"] = "f"
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "read_file", wrong)
	}
}
