package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/mcp"
	"aanet/api/rest"
	"aanet/billing"
)

// TestDepositOverREST pays as an x402 client does over HTTP: headers and body as the protocol has them.
func TestDepositOverREST(t *testing.T) {
	t.Parallel()
	bank := apitest.NewBank(t, time.Now, time.Minute)
	v := apitest.New(t, apitest.Options{Deposits: bank.Engine})
	client := serveDoor(t, rest.New(v.Service, rest.Options{Log: doorLog(t), Metrics: api.NewMetrics(prometheus.NewRegistry())}))
	ws := v.Workspace(t, 0)
	post := func(header, body string) (int, http.Header, map[string]any) {
		t.Helper()
		u := client.url
		u.Path = "/v1/workspaces/" + ws.ID + "/deposits"
		r := &http.Request{Method: "POST", URL: &u, Header: http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + ws.Owner.Key},
		}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
		if header != "" {
			r.Header["Payment-Signature"] = strings.Split(header, "\n")
		}
		status, h, text := client.do(t, r.WithContext(t.Context()))
		decoded, err := apitest.Decode(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return status, h, decoded
	}

	status, h, offer := post("", `{"amount_usd":"1"}`)
	same(t, "status", status, 402)
	same(t, "type", h.Get("Content-Type"), "application/json")
	same(t, "caching", h.Get("Cache-Control"), "no-store")
	same(t, "cost", h.Get("X-AANet-Cost"), "0")
	resource, _ := offer["resource"].(map[string]any)
	same(t, "resource", resource["url"], any("https://aanet.example/v1/workspaces/"+ws.ID+"/deposits"))
	same(t, "version", apitest.Int(offer["x402Version"]), 2)

	signature := bank.Proof(t, apitest.Base, billing.PerUSD).Encode()
	other := bank.Proof(t, apitest.Base, billing.PerUSD).Encode()
	status, _, _ = post(signature, `{"amount_usd":"1","payment_signature":"`+other+`"}`)
	same(t, "two that differ", status, 422)
	status, _, _ = post(signature+"\n"+other, `{"amount_usd":"1"}`)
	same(t, "two headers", status, 422)
	same(t, "verifies", bank.Facilitator.Calls("verify"), 0)

	status, h, paid := post(signature, `{"amount_usd":"1","payment_signature":"`+signature+`"}`)
	same(t, "status", status, 200)
	same(t, "balance", h.Get("X-AANet-Remaining-Balance"), "100000")
	raw, err := base64.StdEncoding.DecodeString(h.Get("PAYMENT-RESPONSE"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := apitest.Decode(raw)
	if err != nil || response["success"] != any(true) || response["transaction"] != paid["tx_hash"] || response["network"] != any(apitest.Base) {
		t.Errorf("PAYMENT-RESPONSE is %s, the answer %v", raw, paid)
	}
	status, _, _ = post(other, `{"amount_usd":"1"}`)
	same(t, "by the header alone", status, 200)
	status, h, _ = post(other, `{"amount_usd":"1"}`)
	same(t, "again", status, 409)
	same(t, "type", h.Get("Content-Type"), "application/problem+json")
}

// TestDepositOverMCP pays as an x402 client does over MCP: the payment in _meta, as an object.
func TestDepositOverMCP(t *testing.T) {
	t.Parallel()
	bank := apitest.NewBank(t, time.Now, time.Minute)
	v := apitest.New(t, apitest.Options{Deposits: bank.Engine})
	client := serveDoor(t, mcp.New(v.Service, mcp.Options{Log: slog.New(slog.DiscardHandler), Version: "test"}))
	ws := v.Workspace(t, 0)
	call := func(arguments, meta string) (isError bool, body, answerMeta map[string]any) {
		t.Helper()
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_deposit","arguments":` + arguments + `,"_meta":` + meta + `}}`
		r := &http.Request{Method: "POST", URL: &client.url, Header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + ws.Owner.Key},
		}, Body: io.NopCloser(strings.NewReader(message)), ContentLength: int64(len(message))}
		_, _, text := client.do(t, r.WithContext(t.Context()))
		var answer struct {
			Result struct {
				IsError           bool
				StructuredContent json.RawMessage
				Content           []struct{ Text string }
				Meta              map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal(text, &answer); err != nil || len(answer.Result.Content) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		result := answer.Result
		if result.StructuredContent != nil && !bytes.Equal(result.StructuredContent, []byte(result.Content[0].Text)) {
			t.Errorf("structured %s, text %s", result.StructuredContent, result.Content[0].Text)
		}
		body, err := apitest.Decode([]byte(result.Content[0].Text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return result.IsError, body, result.Meta
	}

	isError, offer, _ := call(`{"amount_usd":"1"}`, `{}`)
	same(t, "an offer is an error", isError, true)
	same(t, "version", apitest.Int(offer["x402Version"]), 2)

	proof, err := json.Marshal(bank.Proof(t, apitest.Base, billing.PerUSD))
	if err != nil {
		t.Fatal(err)
	}
	isError, body, _ := call(`{"amount_usd":"1","payment_signature":"e30="}`, `{"x402/payment":`+string(proof)+`}`)
	same(t, "two that differ", isError && body["code"] == any("INVALID_ARGUMENT"), true)
	isError, body, meta := call(`{"amount_usd":"1"}`, `{"x402/payment":`+string(proof)+`}`)
	same(t, "an error", isError, false)
	response, _ := meta["x402/payment-response"].(map[string]any)
	if response["success"] != any(true) || response["transaction"] != body["tx_hash"] || body["tx_hash"] == nil {
		t.Errorf("_meta has %v, the answer is %v", meta, body)
	}
	same(t, "balance", ws.Balance(t), 100_000)
	for _, payment := range []string{`7`, `{}`, `"x"`, `[]`, `true`} {
		_, body, _ := call(`{"amount_usd":"1"}`, `{"x402/payment":`+payment+`}`)
		same(t, payment, body["code"], any("PAYMENT_INVALID"))
	}
	isError, offer, _ = call(`{"amount_usd":"1"}`, `{"x402/payment":null,"other":1}`)
	same(t, "none", isError && offer["accepts"] != nil, true)
}

// TestNoDepositsSetUp is a service without facilitators: only what is right gets as far as that.
func TestNoDepositsSetUp(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{Log: slog.New(slog.DiscardHandler)}).Workspace(t, 0)
	r := deposit(t, ws, args{"amount_usd": "1"})
	same(t, "code", r.Code, "UNAVAILABLE")
	same(t, "status", r.Status, 503)
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "deposit", args{"amount_usd": "x"})
	ws.Mint(t).Refused(t, "OWNER_ONLY", "deposit", args{"amount_usd": "1"})
}
