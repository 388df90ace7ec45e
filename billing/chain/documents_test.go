package chain_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aanet/deploy/programs"
	"aanet/docs/snippets"
)

// The payment that docs/money.md shows in TypeScript is made as it stands there, at a chain.
func TestTheDocumentedPaymentPays(t *testing.T) {
	packages := programs.Packages(t, "x402client", os.DirFS("testdata/x402client"))
	document, err := os.ReadFile(filepath.Join("..", "..", "docs/money.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := snippets.Find(string(document))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(blocks, func(b snippets.Block) bool { return b.Language == "ts" })
	if at < 0 {
		t.Fatal("docs/money.md shows no TypeScript")
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "pay.mjs"), []byte(blocks[at].Text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, programs.Node(t), "pay.mjs")
	node.Dir = folder
	node.Env = append(os.Environ(), "AANET_URL="+s.url, "WORKSPACE="+ws.ID, "OWNER_KEY="+ws.Owner.Key, "PAYER_KEY="+payer.Key)
	out, err := node.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "200 {") || !strings.Contains(string(out), fmt.Sprint("deposited_units: ", 2_000_000)) {
		t.Fatalf("%v: %s", err, out)
	}
	ws.Funded(2_000_000)
	same(t, "balance", ws.Balance(t), 2_000_000)
	ws.CheckLedger(t)
}
