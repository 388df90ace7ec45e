package billing

import (
	"context"
	"time"
)

// Evidence is what the chains themselves say, where a node can be asked (an RPC URL is configured). It is the only
// thing that decides an open deposit without the operator. Its methods may be called concurrently, bound their own
// time, and only read. An error means that nothing was learnt: the node is away, lies about its chain, or answered
// nonsense; ask again later.
type Evidence interface {
	// Covers tells whether a node of the network (CAIP-2) is configured. The methods below are called for covered
	// networks only.
	Covers(network string) bool
	// Payment tells what became of a payment that a payer signed.
	Payment(ctx context.Context, q PaymentQuery) (PaymentFinding, error)
	// Payout tells whether a transaction paid a refund.
	Payout(ctx context.Context, q PayoutQuery) (PayoutFinding, error)
}

// PaymentQuery describes a signed payment: an EIP-3009 authorization, or a Solana transaction.
type PaymentQuery struct {
	// Network is the CAIP-2 name; the token is that network's USDC.
	Network string
	// Payer and PayTo are wallets. On EVM chains Payer is in lower case and PayTo in any; on Solana PayTo is the owner
	// of the receiving token account, which is the associated one of USDC.
	Payer, PayTo string
	// Amount is exactly what must have arrived.
	Amount Units
	// Nonce is that of the authorization as 0x and hex; on Solana the hash of the transaction's message, in base64, as
	// x402.Payment.Nonce has it.
	Nonce string
	// ValidBefore is when an EVM authorization dies; zero on Solana, where the blockhash in Payload decides.
	ValidBefore time.Time
	// Payload is the x402 payload (JSON) as x402.Payment.Payload has it: payload.transaction is the Solana transaction.
	Payload []byte
	// Since is shortly before the payment can have been made by us: search no earlier than some minutes before it.
	Since time.Time
	// Hint is a transaction that a facilitator named; perhaps wrong, often empty.
	Hint string
}

// PaymentState is what the chain shows of a payment.
type PaymentState int

// The states of a payment on its chain.
const (
	// PaymentPending: not decided. It is seen but not deep enough in the chain, or used and the transfer not found yet.
	PaymentPending PaymentState = iota
	// PaymentMade: exactly Amount of the token went from Payer to PayTo by this very authorization or message, with
	// enough confirmations (finalized on Solana). Transaction is set.
	PaymentMade
	// PaymentDead: it can never be made any more. EVM: the confirmed head is at or past ValidBefore and the nonce is
	// unused, or it was cancelled. Solana: the blockhash is no longer valid at finalized commitment and no transaction
	// with this message is in the finalized history.
	PaymentDead
	// PaymentUnused: not made as of now, and still possible.
	PaymentUnused
)

// PaymentFinding is the answer about a payment.
type PaymentFinding struct {
	State PaymentState
	// Transaction is the hash (EVM) or signature (Solana) that made it; with PaymentMade only.
	Transaction string
	// Reason says in one line what was seen, for the operator.
	Reason string
}

// PayoutQuery describes what a refund's payout must be.
type PayoutQuery struct {
	// Network is the CAIP-2 name; the token is that network's USDC.
	Network string
	// Transaction is the hash or signature that the operator recorded, as he typed it (already checked for its form).
	Transaction string
	// To is the refund's wallet; on Solana the owner of the token account that was paid.
	To string
	// Amount is the exact net payout.
	Amount Units
	// After is when the refund was requested: an earlier block cannot have paid it.
	After time.Time
	// From, if not empty, are the only wallets that may have paid.
	From []string
}

// PayoutState is what the chain shows of a payout.
type PayoutState int

// The states of a payout.
const (
	// PayoutPending: the transaction is not known to the node, or not deep enough in the chain yet.
	PayoutPending PayoutState = iota
	// PayoutMade: it succeeded, it is confirmed, and To got exactly Amount by it.
	PayoutMade
	// PayoutWrong: it is confirmed, and it did not pay this refund: failed, other token, address, amount, time or sender.
	PayoutWrong
)

// PayoutFinding is the answer about a payout.
type PayoutFinding struct {
	State PayoutState
	// Reason says in one line what is missing or wrong, for the operator; empty with PayoutMade.
	Reason string
	// Steps are what was looked at, in order. One that is open ends them.
	Steps []PayoutStep
}

// StepState is how one step of a check came out.
type StepState int

// The states of a step.
const (
	// StepOK: as it must be.
	StepOK StepState = iota
	// StepOpen: not known yet; the steps after it were not looked at.
	StepOpen
	// StepWrong: not as it must be, and it will stay so.
	StepWrong
)

// PayoutStep is one thing that was compared about a payout.
type PayoutStep struct {
	// Name says what was compared: transaction, confirmations, outcome, time, amount or sender; unused is the desk's.
	Name  string
	State StepState
	// Detail says in one line what was seen.
	Detail string
}
