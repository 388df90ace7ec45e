package rest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aanet/api/rest"
	"aanet/deploy/programs"
)

// Two validators of others, one by the specification's schema and one by its words, accept the document with all its
// examples, and would tell if it were wrong.
func TestOpenAPIIsAcceptedByIndependentValidators(t *testing.T) {
	node := programs.Node(t)
	modules := programs.Packages(t, "openapi", os.DirFS("testdata/openapi"))
	text, err := rest.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	documents := []struct{ from, to, said string }{
		{"", "", ""},
		{`"in": "path"`, `"in": "nowhere"`, "structure: "},
		{`"remaining": 948`, `"remaining": "948"`, "no-invalid-media-type-examples: "},
		{`"#/components/schemas/BalanceOut"`, `"#/components/schemas/Nothing"`, "no-unresolved-refs: "},
	}
	folder := t.TempDir()
	command := []string{filepath.Join(modules, "validate.mjs")}
	for i, d := range documents {
		changed := strings.Replace(string(text), d.from, d.to, 1)
		if d.from != "" && changed == string(text) {
			t.Fatalf("the document has no %s", d.from)
		}
		file := filepath.Join(folder, fmt.Sprint(i, ".json"))
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		command = append(command, file)
	}
	out, err := exec.CommandContext(t.Context(), node, command...).CombinedOutput()
	said := strings.SplitAfter(string(out), " paths of OpenAPI 3.1\n")
	if err != nil || len(said) != len(documents)+1 {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.HasPrefix(said[0], "checked ") {
		t.Errorf("the document is not accepted:\n%s", said[0])
	}
	for i, d := range documents[1:] {
		if !strings.Contains(said[i+1], d.said) {
			t.Errorf("with %s it is not refused by %s\n%.300s", d.to, d.said, said[i+1])
		}
	}
}
