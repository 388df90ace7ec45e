package chaintest

import (
	"context"
	"errors"
	"fmt"

	solanago "github.com/gagliardetto/solana-go"
	"github.com/x402-foundation/x402/go/mechanisms/svm"
)

// feePayer is what the SDK's facilitator needs of Solana: a key that pays the fees, and sending.
type feePayer struct {
	solana *Solana
	wallet *SolanaWallet
}

var _ svm.FacilitatorSvmSigner = (*feePayer)(nil)

func newFeePayer(s *Solana) *feePayer { return &feePayer{solana: s, wallet: s.NewWallet()} }

func (p *feePayer) GetAddresses(context.Context, string) []solanago.PublicKey {
	return []solanago.PublicKey{p.wallet.key.PublicKey()}
}

func (p *feePayer) SignTransaction(_ context.Context, tx *solanago.Transaction, payer solanago.PublicKey, _ string) error {
	if payer != p.wallet.key.PublicKey() {
		return errors.New("another one's fee payer")
	}
	message, err := tx.Message.MarshalBinary()
	if err != nil {
		return err
	}
	signature, err := p.wallet.key.Sign(message)
	if err != nil {
		return err
	}
	at, err := tx.GetAccountIndex(payer)
	if err != nil {
		return err
	}
	for len(tx.Signatures) <= int(at) {
		tx.Signatures = append(tx.Signatures, solanago.Signature{})
	}
	tx.Signatures[at] = signature
	return nil
}

func (p *feePayer) SimulateTransaction(ctx context.Context, tx *solanago.Transaction, _ string) error {
	var answer struct {
		Value struct {
			Err any `json:"err"`
		} `json:"value"`
	}
	if err := p.solana.try(ctx, tx, "simulateTransaction", &answer); err != nil {
		return err
	}
	if answer.Value.Err != nil {
		return fmt.Errorf("simulation failed: %v", answer.Value.Err)
	}
	return nil
}

func (p *feePayer) SendTransaction(ctx context.Context, tx *solanago.Transaction, _ string) (solanago.Signature, error) {
	return p.solana.send(ctx, tx)
}

// ConfirmTransaction has nothing to wait for: what was sent is in the chain.
func (p *feePayer) ConfirmTransaction(context.Context, solanago.Signature, string) error { return nil }
