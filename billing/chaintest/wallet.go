package chaintest

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	sdk "github.com/x402-foundation/x402/go"
	"github.com/x402-foundation/x402/go/mechanisms/evm"
	"github.com/x402-foundation/x402/go/mechanisms/evm/exact/client"
	evmsigners "github.com/x402-foundation/x402/go/signers/evm"
	x402types "github.com/x402-foundation/x402/go/types"

	"aanet/billing"
)

// Wallet is a key on EVM chains.
type Wallet struct {
	// Address is in mixed case, as wallets show it.
	Address string
	// Key is the private one in hex.
	Key string

	t      testing.TB
	key    *ecdsa.PrivateKey
	owner  common.Address
	signer evm.ClientEvmSigner
}

// NewWallet makes a fresh key.
func NewWallet(t testing.TB) *Wallet {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	w := &Wallet{t: t, key: key, owner: crypto.PubkeyToAddress(key.PublicKey), Key: "0x" + hex.EncodeToString(crypto.FromECDSA(key))}
	w.Address = w.owner.Hex()
	if w.signer, err = evmsigners.NewClientSignerFromPrivateKey(w.Key); err != nil {
		t.Fatal(err)
	}
	return w
}

// Client is the SDK's, with this wallet on every EVM network.
func (w *Wallet) Client() *sdk.X402Client {
	return sdk.Newx402Client().Register("eip155:*", client.NewExactEvmScheme(w.signer, nil))
}

// Pay answers a challenge as the SDK's client does, on one of its networks. It gives PAYMENT-SIGNATURE.
func (w *Wallet) Pay(challenge x402types.PaymentRequired, network string) string {
	w.t.Helper()
	return pay(w.t, w.Client(), challenge, network)
}

func pay(t testing.TB, client *sdk.X402Client, challenge x402types.PaymentRequired, network string) string {
	t.Helper()
	for _, terms := range challenge.Accepts {
		if terms.Network != network {
			continue
		}
		payload, err := client.CreatePaymentPayload(t.Context(), terms, challenge.Resource, challenge.Extensions)
		if err != nil {
			t.Fatal(err)
		}
		return encode(t, payload)
	}
	t.Fatalf("the challenge does not offer %s", network)
	return ""
}

func encode(t testing.TB, payload any) string {
	t.Helper()
	document, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(document)
}

// Authorization is a signed transfer by EIP-3009.
type Authorization struct {
	// From, To and Nonce are in hex.
	From, To, Nonce string
	Amount          billing.Units
	ValidBefore     time.Time
	// Payload is the x402 payload in JSON.
	Payload []byte

	call []byte
}

// Inner is the payload within the x402 payload: signature and authorization.
func (a Authorization) Inner() map[string]any {
	var p x402types.PaymentPayload
	if err := json.Unmarshal(a.Payload, &p); err != nil {
		panic(err) // it was written by Authorize
	}
	return p.Payload
}

// Authorize signs a transfer on a chain that is valid at once and until a time. An empty nonce makes a fresh one.
func (w *Wallet) Authorize(c *Chain, to string, amount billing.Units, validBefore time.Time, nonce string) Authorization {
	w.t.Helper()
	if nonce == "" {
		var err error
		if nonce, err = evm.CreateNonce(); err != nil {
			w.t.Fatal(err)
		}
	}
	a := evm.ExactEIP3009Authorization{
		From: w.Address, To: to, Value: smallest(amount).String(), ValidAfter: "0",
		ValidBefore: strconv.FormatInt(validBefore.Unix(), 10), Nonce: nonce,
	}
	hash, err := evm.HashEIP3009Authorization(a, c.id, c.Network.Asset, c.Network.DomainName, c.Network.DomainVersion)
	if err != nil {
		w.t.Fatal(err)
	}
	v, r, s := w.sign(hash)
	payload, err := json.Marshal(x402types.PaymentPayload{
		X402Version: 2, Payload: (&evm.ExactEIP3009Payload{Signature: evm.BytesToHex(append(append(r[:], s[:]...), v)), Authorization: a}).ToMap(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return Authorization{
		From: strings.ToLower(w.Address), To: to, Nonce: strings.ToLower(nonce), Amount: amount,
		ValidBefore: time.Unix(validBefore.Unix(), 0), Payload: payload,
		call: pack("transferWithAuthorization", w.owner, common.HexToAddress(to), smallest(amount), new(big.Int),
			big.NewInt(validBefore.Unix()), common.HexToHash(nonce), v, r, s),
	}
}

func (w *Wallet) sign(hash []byte) (v byte, r, s [32]byte) {
	w.t.Helper()
	signature, err := crypto.Sign(hash, w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	const evenPoint = 27
	return signature[64] + evenPoint, [32]byte(signature[:32]), [32]byte(signature[32:64])
}

// Submit sends an authorization as a stranger who saw it can, and gives the transaction.
func (c *Chain) Submit(a Authorization) string {
	c.t.Helper()
	return c.mustSend(c.faucet, c.token, a.call)
}

// SubmitTogether sends several in one transaction; it fails as a whole when one of them does.
func (c *Chain) SubmitTogether(all ...Authorization) string {
	c.t.Helper()
	var calls [][]byte
	for _, a := range all {
		calls = append(calls, a.call)
	}
	data, err := batchABI.Pack("run", c.token, calls)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.mustSend(c.faucet, batchAddress, data)
}

// Cancel takes back an authorization of the wallet on the chain.
func (c *Chain) Cancel(w *Wallet, nonce string) string {
	c.t.Helper()
	typeHash := crypto.Keccak256([]byte("CancelAuthorization(address authorizer,bytes32 nonce)"))
	message := crypto.Keccak256(typeHash, common.LeftPadBytes(w.owner.Bytes(), 32), common.HexToHash(nonce).Bytes())
	separator, err := c.client.CallContract(c.t.Context(), ethereum.CallMsg{To: &c.token, Data: pack("DOMAIN_SEPARATOR")}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	v, r, s := w.sign(crypto.Keccak256([]byte("\x19\x01"), separator, message))
	return c.mustSend(c.faucet, c.token, pack("cancelAuthorization", w.owner, common.HexToHash(nonce), v, r, s))
}

// Transfer sends USDC from a wallet that has ether, and gives the transaction.
func (c *Chain) Transfer(from *Wallet, to string, amount billing.Units) string {
	c.t.Helper()
	return c.mustSend(from, c.token, pack("transfer", common.HexToAddress(to), smallest(amount)))
}
