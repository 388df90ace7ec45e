package chaintest

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	solanago "github.com/gagliardetto/solana-go"
	associated "github.com/gagliardetto/solana-go/programs/associated-token-account"
	"github.com/gagliardetto/solana-go/programs/token"
	sdk "github.com/x402-foundation/x402/go"
	"github.com/x402-foundation/x402/go/mechanisms/svm"
	"github.com/x402-foundation/x402/go/mechanisms/svm/exact/client"
	svmsigners "github.com/x402-foundation/x402/go/signers/svm"
	x402types "github.com/x402-foundation/x402/go/types"

	"aanet/billing"
	"aanet/billing/x402"
	"aanet/deploy/programs"
)

//go:embed svm/package.json svm/package-lock.json svm/node.mjs svm/wire.mjs
var svmFiles embed.FS

// Solana is that chain's runtime in a child process, with USDC at its true address.
type Solana struct {
	*Front
	// Network is the one it stands for.
	Network x402.Network

	t    testing.TB
	mint solanago.PublicKey
}

// StartSolana runs the chain until the test ends. It skips the test where there is no Node.js.
func StartSolana(t testing.TB) *Solana {
	t.Helper()
	n, _ := x402.NetworkOf(x402.SolanaID)
	folder := programs.Packages(t, "svm", svmFiles)
	process := exec.CommandContext(context.WithoutCancel(t.Context()), programs.Node(t), "node.mjs")
	process.Dir = folder
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var faults bytes.Buffer
	process.Stderr = &faults
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = process.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the node of Solana did not start: %v\n%s", err, faults.String())
	}
	upstream := "http://127.0.0.1:" + strings.TrimSpace(port)
	s := &Solana{Network: n, t: t, mint: solanago.MustPublicKeyFromBase58(n.Asset)}
	s.Front = startFront(t, func(ctx context.Context, method string, params []json.RawMessage) (json.RawMessage, *RPCError) {
		return forwardHTTP(ctx, upstream, method, params)
	})
	return s
}

func forwardHTTP(ctx context.Context, upstream, method string, params []json.RawMessage) (json.RawMessage, *RPCError) {
	question, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, &RPCError{-32603, err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream, bytes.NewReader(question))
	if err != nil {
		return nil, &RPCError{-32603, err.Error()}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, &RPCError{-32603, err.Error()}
	}
	defer response.Body.Close()
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *RPCError       `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, &RPCError{-32603, err.Error()}
	}
	return answer.Result, answer.Error
}

// ask calls a method that must work.
func (s *Solana) ask(into any, method string, params ...any) {
	s.t.Helper()
	raw := make([]json.RawMessage, len(params))
	for i, p := range params {
		raw[i], _ = json.Marshal(p) // strings, numbers and maps of them
	}
	result, refused := s.call(s.t.Context(), method, raw)
	if refused != nil {
		s.t.Fatalf("%s: %s", method, refused.Message)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(result, into); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// Pass lets time pass, so that no transaction signed before is valid any more.
func (s *Solana) Pass(d time.Duration) {
	s.t.Helper()
	s.ask(nil, "test_pass", int(d.Seconds()))
}

// Finalize says whether transactions are final from now on; true makes those so far final too. They are at first.
func (s *Solana) Finalize(on bool) {
	s.t.Helper()
	s.ask(nil, "test_finalize", on)
}

// Now is the chain's clock.
func (s *Solana) Now() time.Time {
	s.t.Helper()
	var seconds int64
	s.ask(&seconds, "test_now")
	return time.Unix(seconds, 0)
}

// Newest is the signature of the newest transaction with a wallet's token account.
func (s *Solana) Newest(wallet string) string {
	s.t.Helper()
	var list []struct{ Signature string }
	if s.ask(&list, "getSignaturesForAddress", s.TokenAccount(wallet)); len(list) == 0 {
		s.t.Fatal("no transaction")
	}
	return list[0].Signature
}

// SolanaWallet is a key on Solana.
type SolanaWallet struct {
	// Address is the key in base58.
	Address string

	solana *Solana
	key    solanago.PrivateKey
}

// NewWallet makes a key that has the chain's own money for fees.
func (s *Solana) NewWallet() *SolanaWallet {
	s.t.Helper()
	key, err := solanago.NewRandomPrivateKey()
	if err != nil {
		s.t.Fatal(err)
	}
	w := &SolanaWallet{Address: key.PublicKey().String(), solana: s, key: key}
	s.ask(nil, "test_airdrop", w.Address)
	return w
}

// TokenAccount is a wallet's account for USDC by the SDK's reckoning.
func (s *Solana) TokenAccount(wallet string) string {
	return s.account(wallet).String()
}

func (s *Solana) account(wallet string) solanago.PublicKey {
	s.t.Helper()
	account, _, err := solanago.FindAssociatedTokenAddress(solanago.MustPublicKeyFromBase58(wallet), s.mint)
	if err != nil {
		s.t.Fatal(err)
	}
	return account
}

// Fund makes the wallet's token account, with an amount in it.
func (s *Solana) Fund(wallet string, amount billing.Units) {
	s.t.Helper()
	s.ask(nil, "test_fund", s.TokenAccount(wallet), wallet, smallest(amount).String())
}

// Balance is the USDC of a wallet that has a token account.
func (s *Solana) Balance(wallet string) billing.Units {
	s.t.Helper()
	var answer struct {
		Value struct {
			Amount int64 `json:"amount,string"`
		} `json:"value"`
	}
	s.ask(&answer, "getTokenAccountBalance", s.TokenAccount(wallet))
	return billing.Units(answer.Value.Amount / atomicPerUnit)
}

// Pay answers a challenge as the SDK's client does. It gives PAYMENT-SIGNATURE.
func (w *SolanaWallet) Pay(challenge x402types.PaymentRequired) string {
	t := w.solana.t
	t.Helper()
	signer, err := svmsigners.NewClientSignerFromPrivateKey(w.key.String())
	if err != nil {
		t.Fatal(err)
	}
	scheme := client.NewExactSvmScheme(signer, &svm.ClientConfig{RPCURL: w.solana.URL})
	return pay(t, sdk.Newx402Client().Register("solana:*", scheme), challenge, w.solana.Network.ID)
}

// Transfer sends USDC to a wallet, whose token account it creates if need be, and gives the signature.
func (w *SolanaWallet) Transfer(to string, amount billing.Units) string {
	s := w.solana
	s.t.Helper()
	instructions := []solanago.Instruction{}
	var info struct{ Value any }
	if s.ask(&info, "getAccountInfo", s.TokenAccount(to)); info.Value == nil {
		instructions = append(instructions, associated.NewCreateInstruction(
			w.key.PublicKey(), solanago.MustPublicKeyFromBase58(to), s.mint).Build())
	}
	const decimals = 6
	instructions = append(instructions, token.NewTransferCheckedInstruction(smallest(amount).Uint64(), decimals,
		s.account(w.Address), s.mint, s.account(to), w.key.PublicKey(), nil).Build())
	var latest struct{ Value struct{ Blockhash string } }
	s.ask(&latest, "getLatestBlockhash")
	tx, err := solanago.NewTransaction(instructions, solanago.MustHashFromBase58(latest.Value.Blockhash), solanago.TransactionPayer(w.key.PublicKey()))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Sign(func(solanago.PublicKey) *solanago.PrivateKey { return &w.key }); err != nil {
		s.t.Fatal(err)
	}
	signature, err := s.send(s.t.Context(), tx)
	if err != nil {
		s.t.Fatal(err)
	}
	return signature.String()
}

func (s *Solana) send(ctx context.Context, tx *solanago.Transaction) (signature solanago.Signature, _ error) {
	var text string
	if err := s.try(ctx, tx, "sendTransaction", &text); err != nil {
		return signature, err
	}
	return solanago.SignatureFromBase58(text)
}

func (s *Solana) try(ctx context.Context, tx *solanago.Transaction, method string, into any) error {
	wire, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode the transaction: %w", err)
	}
	text, _ := json.Marshal(base64.StdEncoding.EncodeToString(wire)) // a string
	result, refused := s.call(ctx, method, []json.RawMessage{text})
	if refused != nil {
		return errors.New(refused.Message)
	}
	return json.Unmarshal(result, into)
}
