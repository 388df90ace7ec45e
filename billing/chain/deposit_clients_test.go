package chain_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	x402mcp "github.com/x402-foundation/x402/go/mcp"

	"aanet/billing"
	"aanet/billing/chaintest"
	"aanet/deploy/programs"
)

// The SDK's client for MCP pays unaided: it knows the challenge by its form and sends the payment in _meta.
func TestClientOverMCPPays(t *testing.T) {
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "payer", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.mcpURL, HTTPClient: &http.Client{Transport: withKey(ws.Owner.Key)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := x402mcp.NewX402MCPClient(session, payer.Client(), x402mcp.Options{}).CallTool(ctx, "aanet_deposit",
		map[string]any{"workspace_id": ws.ID, "amount_usd": "2.5"})
	if err != nil {
		t.Fatal(err)
	}
	if result.IsError || !result.PaymentMade || result.PaymentResponse == nil || !result.PaymentResponse.Success {
		t.Fatalf("the client got %+v", result)
	}
	network := string(result.PaymentResponse.Network)
	paidOn := map[string]*chaintest.Chain{chaintest.Base: s.base, chaintest.Avalanche: s.avalanche}[network]
	if paidOn == nil {
		t.Fatalf("paid on %q", network)
	}
	same(t, "received", paidOn.Balance(s.payTo[network]), 250_000)
	same(t, "balance", ws.Balance(t), 250_000)
	ws.Funded(250_000)
	ws.CheckLedger(t)
}

// withKey adds the key to every request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// The clients of npm pay the running server as they are; more than a dollar only when they are told to.
func TestClientInTypeScriptPays(t *testing.T) {
	folder := programs.Packages(t, "x402client", os.DirFS("testdata/x402client"))
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	type report struct {
		Status  int
		Body    map[string]any
		Payment struct {
			Success              bool
			Transaction, Network string
		}
		Thrown string
	}
	run := func(network, usd, spendCap string) (r report) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		node := exec.CommandContext(ctx, programs.Node(t), "pay.mjs", s.url+"/v1/workspaces/"+ws.ID+"/deposits", ws.Owner.Key, payer.Key, network, usd, spendCap)
		node.Dir = folder
		var faults strings.Builder
		node.Stderr = &faults
		out, err := node.Output()
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		if err != nil {
			t.Fatalf("%v: %s\n%s", err, out, faults.String())
		}
		return r
	}
	for _, c := range []struct {
		chain *chaintest.Chain
		usd   string
		cap   string
		units billing.Units
	}{{s.base, "1", "default", 100_000}, {s.avalanche, "12.34567", "none", 1_234_567}} {
		network := c.chain.Network.ID
		r := run(network, c.usd, c.cap)
		if r.Status != http.StatusOK || !r.Payment.Success || r.Payment.Network != network || r.Payment.Transaction != r.Body["tx_hash"] {
			t.Fatalf("%s: the client got %+v", network, r)
		}
		same(t, "received", c.chain.Balance(s.payTo[network]), c.units)
		ws.Funded(int64(c.units))
	}
	if r := run(chaintest.Base, "1.01", "default"); !strings.Contains(r.Thrown, "spendControls") {
		t.Errorf("the client's own cap let %+v pass", r)
	}
	ws.CheckLedger(t)
}
