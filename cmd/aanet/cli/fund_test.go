package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/api/client"
	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
)

// Somebody reads how to pay, sends a signed payment that is refused at first, and sends the same one twice more: it is
// credited once.
func TestFund(t *testing.T) {
	bank := apitest.NewBank(t, time.Now, time.Minute)
	u := newUserAt(t, apitest.Options{Clock: time.Now, Deposits: bank.Engine})
	u.ok("create", "paid", "--save", "paid")

	if out := u.ok("fund", "5"); !strings.Contains(out, apitest.Base) || !strings.Contains(out, "Nothing is owed yet") {
		t.Errorf("the offer:\n%s", out)
	}
	var offer client.Offer
	if err := json.Unmarshal([]byte(u.ok("fund", "5", "--json")), &offer); err != nil || len(offer.Accepts) != 5 {
		t.Errorf("%d ways to pay, %v", len(offer.Accepts), err)
	}
	u.balance(0)

	signed := bank.Proof(t, apitest.Base, 5*billing.PerUSD).Encode()
	bank.Facilitator.On("verify", facilitatortest.Invalid("insufficient_funds"))
	u.says(ExitRefused, signed, "fund", "5", "--signature-file", "-")
	bank.Facilitator.On("verify")
	u.balance(0)

	for range 2 {
		if out := u.says(ExitOK, signed, "fund", "5", "--signature-file", "-"); !strings.Contains(out, "credited by 0x") {
			t.Errorf("paid: %s%s", out, u.errors)
		}
		u.balance(500_000)
	}
	u.says(ExitRefused, signed, "fund", "6", "--signature-file", "-")
	u.says(ExitRefused, "no payment", "fund", "5", "--signature-file", "-")
	u.balance(500_000)
}

// balance wants a balance in units.
func (u *user) balance(want int64) {
	u.t.Helper()
	var b struct {
		Balance int64 `json:"workspace_balance"`
	}
	if err := json.Unmarshal([]byte(u.ok("balance", "--json")), &b); err != nil || b.Balance != want {
		u.t.Errorf("the balance is %d and not %d (%v):\n%s", b.Balance, want, err, u.out)
	}
}
