package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aanet/deploy/programs"
)

// vector is a signed request as the documentation shows it.
type vector struct {
	Secret    string            `json:"secret"`
	Timestamp int64             `json:"timestamp"`
	Body      string            `json:"body"`
	Headers   map[string]string `json:"headers"`
}

func TestSignaturesAreThoseOfTheDocumentation(t *testing.T) {
	var v vector
	if err := json.Unmarshal([]byte(documented(t, "vector", "json")), &v); err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	if err := sign(h, v.Headers["webhook-id"], time.Unix(v.Timestamp, 0), []byte(v.Body), v.Secret, ""); err != nil {
		t.Fatal(err)
	}
	if len(v.Headers) != 4 || len(h) != 4 || v.Headers["webhook-timestamp"] != strconv.FormatInt(v.Timestamp, 10) {
		t.Errorf("headers %v and %v", v.Headers, h)
	}
	for name, want := range v.Headers {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %s, documented is %s", name, got, want)
		}
	}
	if err := sign(h, "x", time.Unix(0, 0), nil, "whsec_", ""); err == nil {
		t.Error("an empty secret signs")
	}
}

// The examples are run as they stand, with the vector and with an altered body.
func TestExamplesOfTheDocumentationVerify(t *testing.T) {
	var v vector
	if err := json.Unmarshal([]byte(documented(t, "vector", "json")), &v); err != nil {
		t.Fatal(err)
	}
	signature := v.Headers["X-AANet-Signature"]
	for _, language := range []struct {
		marker, fence, file, call string
		tool                      func(testing.TB) []string
	}{
		{"go", "go", "verify.go", `func main() { println(verify(%q, %q, []byte(%q)), verify(%[1]q, %[2]q, []byte("x"))) }`, func(testing.TB) []string { return []string{"go", "run"} }},
		{"typescript", "ts", "verify.mjs", `console.log(verify(%q, %q, Buffer.from(%q)), verify(%[1]q, %[2]q, Buffer.from("x")))`, func(t testing.TB) []string { return []string{programs.Node(t)} }},
		{"python", "python", "verify.py", `print(str(verify(%q, %q, %q.encode())).lower(), str(verify(%[1]q, %[2]q, b"x")).lower())`, func(t testing.TB) []string { return []string{programs.Python(t)} }},
	} {
		t.Run(language.marker, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), language.file)
			source := documented(t, language.marker, language.fence) + "\n" + fmt.Sprintf(language.call, v.Secret, signature, v.Body) + "\n"
			if language.fence == "ts" { // what Node 22 does by itself
				source = strings.NewReplacer(": string", "", ": Uint8Array", "", ": boolean", "").Replace(source)
			}
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			command := append(language.tool(t), file)
			out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "true false") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
