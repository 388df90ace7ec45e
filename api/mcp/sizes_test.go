package mcp_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// listMax is what the list of tools of an agent's connection may have at most, in bytes: each of its sessions starts
// with it.
const listMax = 16_000

// TestListsAreAsShortAsTheyAreSaidToBe keeps the table of docs/mcp.md.
func TestListsAreAsShortAsTheyAreSaidToBe(t *testing.T) {
	w := newWorld(t)
	doc, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ who, key string }{{"a sub-key", w.subkey}, {"the owner key", w.owner}, {"no key", ""}} {
		size := func(encoding string) int {
			headers := map[string]string{"Accept": "*/*", "Accept-Encoding": encoding, "Authorization": "Bearer " + c.key}
			body, err := io.ReadAll(w.raw(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers).Body)
			if err != nil {
				t.Fatal(err)
			}
			return len(body)
		}
		plain, zipped := size("identity"), size("gzip")
		if c.key == w.subkey && plain > listMax {
			t.Errorf("%d bytes for %s", plain, c.who)
		}
		if zipped*3 > plain {
			t.Errorf("%s: %d bytes are %d with gzip", c.who, plain, zipped)
		}
		row := fmt.Sprintf("| %s | %d | %d | %d |", c.who, len(w.list("Authorization: Bearer "+c.key)), plain, zipped)
		if !strings.Contains(string(doc), row) {
			t.Errorf("docs/mcp.md has not the row %s", row)
		}
	}
}
