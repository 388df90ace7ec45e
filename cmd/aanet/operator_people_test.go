package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"

	"aanet/store/storetest"
)

// typed runs a command that reads from its standard input.
func typed(t *testing.T, env []string, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), process{strings.NewReader(stdin), &out, &out, env}, args)
	return out.String(), err
}

func TestOperatorsAccounts(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + storetest.Database(t)}
	create := func(email string, more ...string) string {
		out, err := typed(t, env, "a long password\n", append([]string{"operator", "create", "--email", email, "--password-stdin"}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := create("first@aanet.example", "--name", "Ada"); out != "created first@aanet.example as admin\n" {
		t.Errorf("the first one: %q", out)
	}
	if out := create("second@aanet.example"); out != "created second@aanet.example as operator\n" {
		t.Errorf("the second one: %q", out)
	}
	operates(t, env, "operator", "set-role", "--email", "SECOND@aanet.example", "--role", "viewer", "--reason", "new here")
	operates(t, env, "operator", "disable", "--email", "second@aanet.example", "--reason", "left")
	if out := operates(t, env, "operator", "list"); strings.Count(out, "@") != 2 || !strings.Contains(out, "viewer") || !strings.Contains(out, "Ada") {
		t.Errorf("the list:\n%s", out)
	}
	operates(t, env, "operator", "enable", "--email", "second@aanet.example")
	if out, err := typed(t, env, "another password", "operator", "set-password", "--email", "second@aanet.example", "--password-stdin"); err != nil {
		t.Error(out, err)
	}
	out := operates(t, env, "operator", "audit")
	for _, want := range []string{"operator.create", "operator.role", "operator.disable", "operator.enable", "operator.password", "cli:", `"new here"`, `"role": "viewer"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the audit log lacks %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "argon2id") || strings.Contains(out, "another password") {
		t.Errorf("the audit log shows a password:\n%s", out)
	}
	if out := operates(t, env, "operator", "audit", "--action", "operator.role", "--limit", "5"); strings.Count(out, "\n") != 2 {
		t.Errorf("filtered:\n%s", out)
	}
	for _, c := range []struct{ stdin, args, says string }{
		{"a long password", "create --password-stdin", "--email is required"},
		{"a long password", "create --email x@aanet.example", "--password-stdin is required"},
		{"too short", "create --email x@aanet.example --password-stdin", "12 to 200"},
		{"a long password", "create --email nobody --password-stdin", "email"},
		{"a long password", "create --email x@aanet.example --role king --password-stdin", "role"},
		{"a long password", "create --email First@AANet.example --password-stdin", "exists already"},
		{"", "disable --email first@aanet.example", "last admin"},
		{"", "set-role --email first@aanet.example --role viewer", "last admin"},
		{"", "set-role --email nobody@aanet.example --role viewer", "no such operator"},
		{"", "audit --limit 0", "--limit"},
	} {
		_, err := typed(t, env, c.stdin, append([]string{"operator"}, strings.Fields(c.args)...)...)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want something about %q", c.args, err, c.says)
		}
	}
}

// What the command line does to a workspace is in the audit log with what was before and after.
func TestCommandLineIsAudited(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	env := []string{"DATABASE_URL=" + dsn}
	p := serving(t, dsn)
	ws := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"a swarm"}`).string("workspace_id")
	operates(t, env, "operator", "credit", ws, "500", "--reason", "paid by wire")
	operates(t, env, "operator", "block", ws, "--reason", "unpaid")
	if _, err := operate(t, env, "operator", "credit", uuid.NewString(), "500", "--reason", "nobody"); err == nil {
		t.Error("credited nobody")
	}
	out := operates(t, env, "operator", "audit", "--subject", ws)
	for _, want := range []string{"workspace.credit", `"paid by wire"`, `{"balance": 0}`, `"balance": 500`, "workspace.block", `"blocked": true`, `"unpaid"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the audit log lacks %s:\n%s", want, out)
		}
	}
	if all := operates(t, env, "operator", "audit"); strings.Contains(all, "nobody") {
		t.Errorf("what was refused is in the audit log:\n%s", all)
	}
}
