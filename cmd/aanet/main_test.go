package main

import (
	"bytes"
	"strings"
	"testing"
)

// One program has both halves: what runs a service and what works in a workspace.
func TestProgram(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 0, "lock run"},
		{"help", 0, "serve from the database"},
		{"help keys mint", 0, "usage: aanet keys mint"},
		{"help serve", 0, "AANET_LISTEN"},
		{"help nothing", 2, "no command"},
		{"nothing", 2, "no command"},
		{"version", 0, version},
		{"cat", 2, "usage: aanet cat"},
		{"docs more", 1, "usage: aanet docs"},
		{"completion bash", 0, "operator"},
	} {
		var out bytes.Buffer
		code := program(t.Context(), process{strings.NewReader(""), &out, &out, []string{"HOME=" + t.TempDir()}}, strings.Fields(c.args))
		if code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("aanet %s: %d\n%s", c.args, code, out.String())
		}
	}
}
