package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"aanet/api/apitest"
	"aanet/deploy/programs"
	"aanet/store/storetest"
)

// exampleTasks are what the swarms of the examples do.
var exampleTasks = []string{"1", "2", "3", "4"}

// TestExamplesInOtherLanguages runs the files under docs/examples as they stand: two workers share the tasks, a lead hears
// of each, and a receiver behind TLS takes the service's own deliveries and nothing that is forged.
func TestExamplesInOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []struct {
		name, file string
		program    func(testing.TB) string
	}{{"typescript", "swarm.ts", programs.Node24}, {"python", "swarm.py", programs.Python}} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			e := &example{t: t, command: []string{language.program(t), filepath.Join("..", "..", "docs", "examples", language.file)}}
			e.open()
			e.swarm()
			e.webhooks()
		})
	}
}

// example is a file of docs/examples at a service of its own.
type example struct {
	t        *testing.T
	command  []string
	url, key string
	ws       string                  // its address
	front    atomic.Pointer[url.URL] // of the receiver; it is known once that listens
	receiver *httptest.Server
}

func (e *example) open() {
	e.receiver = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httputil.NewSingleHostReverseProxy(e.front.Load()).ServeHTTP(w, r)
	}))
	e.receiver.StartTLS()
	e.t.Cleanup(e.receiver.Close)
	roots := filepath.Join(e.t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.receiver.Certificate().Raw}), 0o600); err != nil {
		e.t.Fatal(err)
	}
	dsn := storetest.Database(e.t)
	p := serving(e.t, dsn, "AANET_WEBHOOK_ALLOW_PRIVATE=127.0.0.0/8", "AANET_WEBHOOK_CA_FILE="+roots)
	made := must(e.t, p.url, "POST", "/v1/workspaces", "", `{"label":"an example"}`)
	e.url, e.key, e.ws = p.url, made.string("owner_key"), "/v1/workspaces/"+made.string("workspace_id")
	spawn(e.t, serviceOn(dsn), "operator", "credit", made.string("workspace_id"), "100000", "--reason", "a test").end(e.t, patience, true)
}

// agent starts the example with a key of its own; stop ends it if it does not end by itself.
func (e *example) agent(settings string, arguments ...string) (cmd *exec.Cmd, printed *apitest.Transcript) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 2*patience)
	e.t.Cleanup(cancel)
	key := must(e.t, e.url, "POST", e.ws+"/subkeys", e.key, fmt.Sprintf(`{"label":%q}`, strings.Join(arguments, " "))).string("key")
	all := append(slices.Clone(e.command), arguments...)
	cmd = exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = append(os.Environ(), "AANET_URL="+e.url, "AANET_KEY="+key, "NO_PROXY=127.0.0.1", settings)
	printed = &apitest.Transcript{}
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	return cmd, printed
}

// swarm has each task done exactly once, whoever comes first.
func (e *example) swarm() {
	lead, heard := e.agent("", "lead", fmt.Sprint(len(exampleTasks)))
	one, did1 := e.agent("", append([]string{"worker"}, exampleTasks...)...)
	two, did2 := e.agent("", append([]string{"worker"}, exampleTasks...)...)
	for _, cmd := range []*exec.Cmd{one, two, lead} {
		if err := cmd.Wait(); err != nil {
			e.t.Fatalf("%v: %v\n%s%s%s", cmd.Args, err, did1, did2, heard)
		}
	}
	summary := must(e.t, e.url, "GET", e.ws+"/files/summary.md", e.key, "").string("content")
	for _, task := range exampleTasks {
		if n := strings.Count(did1.String()+did2.String(), "did "+task+"\n"); n != 1 {
			e.t.Errorf("task %s was done %d times:\n%s%s", task, n, did1, did2)
		}
		if !strings.Contains(heard.String(), "heard of "+task+"\n") || strings.Count(summary, "- "+task+": result of "+task+"\n") != 1 {
			e.t.Errorf("of task %s the lead heard %q, and the summary is %q", task, heard, summary)
		}
	}
	if held := must(e.t, e.url, "GET", e.ws+"/locks", e.key, "").text; held != `{"result":[]}`+"\n" {
		e.t.Errorf("locks are left: %s", held)
	}
}

var receiverPort = regexp.MustCompile(`"port": ?(\d+)`)

// webhooks sends real deliveries to the example's receiver, and a forged one.
func (e *example) webhooks() {
	made := must(e.t, e.url, "POST", e.ws+"/webhooks", e.key, fmt.Sprintf(`{"url":%q,"events":["file_write"]}`, e.receiver.URL+"/hook"))
	receiver, printed := e.agent("WEBHOOK_SECRET="+made.string("secret"), "receiver", "0")
	eventually(e.t, "the receiver", func() bool { return receiverPort.MatchString(printed.String()) })
	front := &url.URL{Scheme: "http", Host: "127.0.0.1:" + receiverPort.FindStringSubmatch(printed.String())[1]}
	e.front.Store(front)

	must(e.t, e.url, "PUT", e.ws+"/files/news.md", e.key, `{"content":"for the receiver"}`)
	deliveries := e.ws + "/webhooks/" + made.string("webhook_id") + "/deliveries"
	eventually(e.t, "the delivery", func() bool {
		return strings.Contains(must(e.t, e.url, "GET", deliveries, e.key, "").text, `"status_code":204`)
	})
	forged, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, front.String(), bytes.NewReader([]byte(`{"id":"evt_1","type":"file_write","path":"forged.md"}`)))
	if err != nil {
		e.t.Fatal(err)
	}
	forged.Header.Set("webhook-id", "evt_1")
	forged.Header.Set("webhook-timestamp", "1796040000")
	forged.Header.Set("webhook-signature", "v1,AAAA")
	answer, err := http.DefaultClient.Do(forged)
	if err != nil {
		e.t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		e.t.Errorf("a forged delivery is answered %d", answer.StatusCode)
	}
	if err := receiver.Process.Kill(); err != nil {
		e.t.Fatal(err)
	}
	_ = receiver.Wait() // killed
	var received []string
	for lines := bufio.NewScanner(strings.NewReader(printed.String())); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "received ") {
			received = append(received, lines.Text())
		}
	}
	if !slices.Equal(received, []string{"received file_write news.md"}) {
		e.t.Errorf("the receiver took %q", received)
	}
}

// TestTypesOfTheExample has the TypeScript compiler check what Node.js only strips.
func TestTypesOfTheExample(t *testing.T) {
	t.Parallel()
	node := programs.Node(t)
	compiler := programs.Packages(t, "typescript", os.DirFS(filepath.Join("testdata", "typescript")))
	example, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples", "swarm.ts"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(file string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node, filepath.Join(compiler, "node_modules", "typescript", "bin", "tsc"), "--noEmit", "--strict",
			"--erasableSyntaxOnly", "--target", "es2023", "--module", "nodenext", "--types", "node",
			"--typeRoots", filepath.Join(compiler, "node_modules", "@types"), file)
		cmd.Dir = compiler
		out, _ := cmd.CombinedOutput() // what it prints tells
		return string(out)
	}
	if said := check(example); said != "" {
		t.Error(said)
	}
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.ts")
	if err := os.WriteFile(wrong, append(text, "\nreceiver(\"8787\");\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := check(wrong); !strings.Contains(said, "error TS2345") {
		t.Errorf("a wrong type is not found: %q", said)
	}
}
