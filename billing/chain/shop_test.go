package chain_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "github.com/x402-foundation/x402/go/types"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/mcp"
	"aanet/api/rest"
	"aanet/api/rest/openapitest"
	"aanet/billing"
	"aanet/billing/chain"
	"aanet/billing/chaintest"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/store"
)

// shop is the whole service, both doors of it on loopback, before real chains and the SDK's facilitator.
type shop struct {
	*apitest.World
	t           *testing.T
	base        *chaintest.Chain
	avalanche   *chaintest.Chain
	solana      *chaintest.Solana // nil unless asked for
	facilitator *chaintest.Facilitator
	evidence    *chain.Chains
	engine      *deposits.Engine
	payTo       map[string]string
	url, mcpURL string
	ahead       atomic.Int64 // how far the engine's clock is ahead of ours
}

func newShop(t *testing.T, withSolana bool) *shop {
	t.Helper()
	s := &shop{t: t, base: chaintest.Start(t, chaintest.Base), avalanche: chaintest.Start(t, chaintest.Avalanche)}
	s.payTo = map[string]string{chaintest.Base: chaintest.NewWallet(t).Address, chaintest.Avalanche: chaintest.NewWallet(t).Address}
	urls := map[string]string{chaintest.Base: s.base.URL, chaintest.Avalanche: s.avalanche.URL}
	if withSolana {
		s.solana = chaintest.StartSolana(t)
		s.payTo[x402.SolanaID], urls[x402.SolanaID] = s.solana.NewWallet().Address, s.solana.URL
		s.solana.Fund(s.payTo[x402.SolanaID], 0)
	}
	s.facilitator = chaintest.StartFacilitator(t, s.solana, s.base, s.avalanche)
	var err error
	s.evidence, err = chain.New(chain.Options{URLs: urls, PayTo: s.payTo, Timeout: patience, Confirmations: map[string]uint64{chaintest.Base: deep, chaintest.Avalanche: deep}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.evidence.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	gateway, err := x402.New(x402.Options{
		Facilitators: []x402.Facilitator{{Name: "sdk", URL: s.facilitator.URL, Timeout: patience}}, PayTo: s.payTo, Now: time.Now, VerifyTimeout: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	gateway.Start(t.Context())
	t.Cleanup(gateway.Stop)
	if !gateway.WaitFirst(t.Context()) {
		t.Fatal("the facilitator was not asked")
	}
	s.World = apitest.New(t, apitest.Options{Deposits: func(st *store.Store) *deposits.Engine {
		s.engine = deposits.New(deposits.Options{
			Store: st, Gateway: gateway, Evidence: s.evidence, Log: slog.New(slog.DiscardHandler), JoinPatience: 100 * time.Millisecond, SettlePatience: patience,
			Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
		})
		return s.engine
	}})
	s.url = serve(t, rest.New(s.Service, rest.Options{Log: slog.New(slog.DiscardHandler), Metrics: api.NewMetrics(prometheus.NewRegistry())}))
	s.mcpURL = serve(t, mcp.New(s.Service, mcp.Options{Log: slog.New(slog.DiscardHandler), Version: "test"}))
	return s
}

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// rich is a wallet with a hundred dollars on both EVM chains.
func (s *shop) rich() *chaintest.Wallet {
	s.t.Helper()
	w := chaintest.NewWallet(s.t)
	s.base.Fund(w.Address, 100*billing.PerUSD)
	s.avalanche.Fund(w.Address, 100*billing.PerUSD)
	return w
}

// answer is what a client of REST gets.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   []byte
}

func (a answer) code() string    { s, _ := a.body["code"].(string); return s }
func (a answer) hash() string    { s, _ := a.body["tx_hash"].(string); return s }
func (a answer) units() int64    { return apitest.Int(a.body["deposited_units"]) }
func (a answer) network() string { s, _ := a.body["network"].(string); return s }

// post asks for a deposit over REST; without a signature that is an offer.
func (s *shop) post(ws *apitest.Workspace, usd, signature string) answer {
	body, _ := json.Marshal(map[string]string{"amount_usd": usd}) // strings
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/v1/workspaces/"+ws.ID+"/deposits", bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return answer{}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+ws.Owner.Key)
	if signature != "" {
		r.Header.Set(x402.HeaderSignature, signature)
	}
	response, err := openapitest.Client(s.t).Do(r)
	if err != nil {
		s.t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.text, err = io.ReadAll(response.Body); err == nil {
		a.body, err = apitest.Decode(a.text)
	}
	if err != nil {
		s.t.Errorf("%d %s: %v", a.status, a.text, err)
	}
	return a
}

// offer reads the challenge as clients do.
func (s *shop) offer(ws *apitest.Workspace, usd string) (challenge sdk.PaymentRequired) {
	s.t.Helper()
	a := s.post(ws, usd, "")
	text, err := base64.StdEncoding.DecodeString(a.header.Get(x402.HeaderRequired))
	if a.status != http.StatusPaymentRequired || err != nil || json.Unmarshal(text, &challenge) != nil {
		s.t.Fatalf("the offer is %d %s", a.status, a.text)
	}
	return challenge
}

// accepts posts a payment that must be credited.
func (s *shop) accepts(ws *apitest.Workspace, usd, signature string, units billing.Units) answer {
	s.t.Helper()
	a := s.post(ws, usd, signature)
	if a.status != http.StatusOK || a.units() != int64(units) || a.hash() == "" {
		s.t.Fatalf("the payment is answered with %d %s, want %d units", a.status, a.text, units)
	}
	ws.Funded(int64(units))
	return a
}

// refuses posts a payment that must be refused with a code.
func (s *shop) refuses(ws *apitest.Workspace, usd, signature, code string) answer {
	s.t.Helper()
	a := s.post(ws, usd, signature)
	if a.code() != code {
		s.t.Errorf("the payment is answered with %d %s, want %s", a.status, a.text, code)
	}
	return a
}

// reconcile runs one turn with a new look at every chain.
func (s *shop) reconcile() {
	s.t.Helper()
	s.ahead.Add(int64(time.Hour))
	if err := s.engine.Reconcile(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	if err := s.engine.Wait(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

// same compares amounts.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// retold takes a payment apart, lets it be changed, and puts it together again.
func retold(t *testing.T, signature string, change func(payment, authorization, accepted map[string]any)) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		t.Fatal(err)
	}
	var payment map[string]any
	if err := json.Unmarshal(text, &payment); err != nil {
		t.Fatal(err)
	}
	payload, _ := payment["payload"].(map[string]any)
	authorization, _ := payload["authorization"].(map[string]any)
	accepted, _ := payment["accepted"].(map[string]any)
	change(payment, authorization, accepted)
	if text, err = json.Marshal(payment); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}
