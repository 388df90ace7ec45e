package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/store"
)

// TestRefundsToTheServiceItself are refused: in any case of the letters, and to the receiver of another EVM network too.
func TestRefundsToTheServiceItself(t *testing.T) {
	t.Parallel()
	gateway, err := x402.New(x402.Options{Now: time.Now, PayTo: map[string]string{
		"eip155:137": apitest.ReceiverEVM, x402.SolanaID: apitest.ReceiverSolana,
	}})
	if err != nil {
		t.Fatal(err)
	}
	ws := apitest.New(t, apitest.Options{Deposits: func(s *store.Store) *deposits.Engine {
		return deposits.New(deposits.Options{Store: s, Gateway: gateway, Now: time.Now})
	}}).Workspace(t, 1_000_000)
	for network, addresses := range map[string][]string{
		"base": {apitest.ReceiverEVM, strings.ToLower(apitest.ReceiverEVM)}, "solana": {apitest.ReceiverSolana},
	} {
		for _, address := range addresses {
			r := ws.Owner.Refused(t, "INVALID_ARGUMENT", "request_refund", args{"network": network, "destination_address": address})
			if !strings.Contains(fmt.Sprint(r.Body["errors"]), "own wallet") {
				t.Errorf("%s %s: %v", network, address, r.Body)
			}
		}
	}
	same(t, "balance", ws.Balance(t), 1_000_000)
}
