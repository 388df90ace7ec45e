package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"aanet/api/client"
)

func moneyCommands() []*command {
	return []*command{
		{
			name: "fund", group: groupOwner, args: "USD", min: 1, max: 1, summary: "add money: show how to pay, or send a payment", run: runFund,
			detail: "Without a signature: shows how USD (\"0.25\" to \"100000\") can be paid in USDC by x402; nothing is owed. With one: sends the payment, and sends the same one again " +
				"until it is settled. Keep the signature until then: the same one never pays twice, a new one would. Free; owner key.",
			flags: []option{{"signature-file", "FILE", "the signed payment in base64; - for standard input"}},
		},
		{
			name: "refund request", group: groupOwner, args: "NETWORK ADDRESS", min: 2, max: 2, summary: "ask for the balance back", run: runRefund,
			detail: "Reserves the whole balance and asks the operator to pay it in USDC on NETWORK (base or solana) to ADDRESS, a wallet of yours, less a fee. What is paid to a wrong wallet is lost. Free; owner key.",
		},
		{
			name: "refund list", group: groupOwner, summary: "show refunds and what became of them", run: runRefunds,
			detail: "Lists all refunds, newest first. Free; owner key.", example: "aanet refund list",
		},
	}
}

// signatureBytesMax bounds what is read as a signed payment.
const signatureBytesMax = 64 << 10

func runFund(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	if name, pay := c.values["signature-file"]; pay {
		return c.pay(owner, name)
	}
	offer, err := owner.DepositOffer(c.ctx, c.arg(0))
	if err != nil {
		return err
	}
	if c.on("json") {
		_, err = fmt.Fprintf(c.Stdout, "%s\n", offer.Raw)
		return err
	}
	rows := [][]string{{"NETWORK", "USDC", "TO", "TOKEN", "WITHIN"}}
	for _, t := range offer.Accepts {
		rows = append(rows, []string{t.Network, usdc(t.Amount), t.PayTo, t.Asset, fmt.Sprint(t.MaxTimeoutSeconds, " s")})
	}
	table(c.Stdout, rows)
	c.say(`
Nothing is owed yet. To pay with a wallet that signs x402 payments (docs/money.md has one in TypeScript, Go and Python):
  aanet fund %[1]s --json > offer.json      the terms to sign
  aanet fund %[1]s --signature-file FILE    the signed payment, in base64
Such wallets sign at most $1 unless they are told otherwise. Keep FILE until the payment is settled.`, c.arg(0))
	return nil
}

// usdc writes an amount of the token's smallest unit, of which a dollar has a million.
func usdc(amount string) string {
	n, ok := new(big.Int).SetString(amount, 10)
	if !ok {
		return amount
	}
	text := new(big.Rat).SetFrac(n, big.NewInt(1_000_000)).FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func (c *call) pay(owner *client.Client, file string) error {
	signature, err := readSecret(file, c.Stdin, signatureBytesMax)
	if err != nil {
		return fmt.Errorf("the signed payment: %w", err)
	}
	out, err := owner.SettleDeposit(c.ctx, c.arg(0), signature, func(err error) {
		c.note("aanet: %s Sending the same payment again.", lineOf(err))
	})
	var refusal *client.Error
	if errors.As(err, &refusal) && refusal.Code == client.CodePaymentAlreadyUsed && refusal.Text("tx_hash") != "" {
		c.note("this payment was credited to this workspace before: %s", refusal.Text("tx_hash"))
		return nil
	}
	if err != nil {
		return err
	}
	if c.on("json") {
		return c.line(out)
	}
	c.say("%s credited by %s on %s", units(out.DepositedUnits), out.TxHash, out.Network)
	return nil
}

func runRefund(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.RequestRefundIn{Network: c.arg(0), DestinationAddress: c.arg(1)}
	return show(c, func(raw client.CallOption) (client.RequestRefundOut, error) {
		return owner.RequestRefund(c.ctx, in, raw)
	},
		func(out client.RequestRefundOut) {
			table(c.Stdout, [][]string{
				{"refund", out.RefundID}, {"status", out.Status}, {"balance", "$" + out.GrossUSD}, {"fee", "$" + out.FeeUSD}, {"you get", "$" + out.NetPayoutUSD},
				{"on", out.Network}, {"to", out.DestinationAddress}, {"not refundable", "$" + out.NotRefundableUSD},
			})
		})
}

func runRefunds(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return showList(c, func(raw client.CallOption) ([]client.RefundOut, error) { return owner.GetRefundStatus(c.ctx, raw) },
		[]string{"REQUESTED", "STATUS", "USD", "NETWORK", "TO", "TRANSACTION", "REASON", "ID"}, func(r client.RefundOut) []string {
			return []string{
				moment(r.RequestedAt), r.Status, r.NetPayoutUSD, r.Network, r.DestinationAddress, textOr(r.TxHash, ""), textOr(r.Reason, ""), r.RefundID,
			}
		})
}
