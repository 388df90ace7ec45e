package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"

	"aanet/store/storetest"
)

// operate runs a command of the operator in this process and gives what it printed.
func operate(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), process{strings.NewReader(""), &out, &out, env}, args)
	return out.String(), err
}

// operates runs a command that must do.
func operates(t *testing.T, env []string, args ...string) string {
	t.Helper()
	out, err := operate(t, env, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func TestOperator(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	env := []string{"DATABASE_URL=" + dsn}
	p := serving(t, dsn)
	trial := must(t, p.url, "POST", "/v1/workspaces/trial", "", "")
	ws, key := trial.string("workspace_id"), trial.string("owner_key")
	state := func() reply { return must(t, p.url, "GET", "/v1/workspaces/"+ws, key, "") }
	file := "/v1/workspaces/" + ws + "/files/f"

	id := uuid.NewString()
	for range 2 { // the same credit is given once
		if out := operates(t, env, "operator", "credit", ws, "1234", "--reason", "a gift", "--id", id); !strings.Contains(out, "1234") || !strings.Contains(out, id) {
			t.Errorf("credit prints %q", out)
		}
	}
	if got := state().int("deposit_balance"); got != 1334 {
		t.Errorf("the balance is %d after a credit of 1234 to 100", got)
	}
	operates(t, env, "operator", "block", ws, "--reason", "unpaid")
	if r := ask(t, p.url, "PUT", file, key, `{"content":"x"}`); r.status != 403 || r.string("code") != "WORKSPACE_BLOCKED" {
		t.Errorf("a write while blocked: %d %s", r.status, r.text)
	}
	if state().body["blocked"] != true {
		t.Error("the workspace does not show that it is blocked")
	}
	operates(t, env, "operator", "unblock", ws)
	must(t, p.url, "PUT", file, key, `{"content":"x"}`)

	if out := operates(t, env, "verify", "ledger"); out != "1 workspaces checked, 0 differences\n" {
		t.Errorf("verify ledger prints %q", out)
	}
	storetest.Exec(t, dsn, `update workspaces set balance = balance + 1 where workspace_id = $1::uuid`, ws)
	out, err := operate(t, env, "verify", "ledger")
	if err == nil || !strings.Contains(out, ws) || !strings.Contains(out, "1 workspaces checked") {
		t.Errorf("one unit too many: verify ledger prints %q and ends with %v", out, err)
	}
}

func TestOperatorIsToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + storetest.Database(t)}
	nobody := uuid.NewString()
	for _, c := range []struct{ args, says string }{
		{"operator", "usage:"},
		{"operator credit", "usage:"},
		{"operator credit x 1 --reason r", "not a workspace id"},
		{"operator credit " + nobody + " 1 --reason r", "no such workspace"},
		{"operator credit " + nobody + " 0 --reason r", "UNITS"},
		{"operator credit " + nobody + " 1.5 --reason r", "UNITS"},
		{"operator credit " + nobody + " 1", "--reason is required"},
		{"operator credit " + nobody + " 1 --reason r --id x", "--id"},
		{"operator block " + nobody, "--reason is required"},
		{"operator block " + nobody + " --reason r", "no such workspace"},
		{"operator unblock " + nobody, "no such workspace"},
		{"operator praise " + nobody, "praise"},
		{"verify", "usage:"},
		{"verify books", "usage:"},
	} {
		if _, err := operate(t, env, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want something about %q", c.args, err, c.says)
		}
	}
	if _, err := operate(t, []string{"AANET_DATA_DIR=" + t.TempDir()}, "verify", "ledger"); err == nil || !strings.Contains(err.Error(), "aanet dev") {
		t.Errorf("without a database: %v", err)
	}
}
