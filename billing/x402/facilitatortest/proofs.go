package facilitatortest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Terms are x402 payment requirements: an entry of a challenge's accepts.
type Terms struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"`
	Asset             string         `json:"asset"`
	Amount            string         `json:"amount"`
	PayTo             string         `json:"payTo"`
	MaxTimeoutSeconds int            `json:"maxTimeoutSeconds"`
	Extra             map[string]any `json:"extra,omitempty"`
}

// Payment is an x402 payment payload before it is encoded; tests change it at will.
type Payment struct {
	Version  int            `json:"x402Version"`
	Payload  map[string]any `json:"payload"`
	Accepted Terms          `json:"accepted"`
}

// Encode gives the payment as PAYMENT-SIGNATURE has it.
func (p Payment) Encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// Authorization is the EIP-3009 authorization within the payment, to be changed in place.
func (p Payment) Authorization() map[string]any {
	return p.Payload["authorization"].(map[string]any)
}

// Payer is who pays in EVM.
const Payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"

// EVM pays the terms by an authorization with a fresh nonce, valid from a minute ago for an hour. The signature is only
// as long as one.
func EVM(terms Terms, now time.Time) Payment {
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce)
	return Payment{
		Version: 2, Accepted: terms,
		Payload: map[string]any{
			"signature": "0x" + strings.Repeat("1b", 65),
			"authorization": map[string]any{
				"from": Payer, "to": terms.PayTo, "value": terms.Amount, "nonce": "0x" + hex.EncodeToString(nonce),
				"validAfter":  strconv.FormatInt(now.Add(-time.Minute).Unix(), 10),
				"validBefore": strconv.FormatInt(now.Add(time.Hour).Unix(), 10),
			},
		},
	}
}

// SolanaPayer owns the tokens in SolanaTransaction.
const SolanaPayer = "7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv"

// SolanaAccount is where SolanaTransaction sends the tokens: the USDC account of the wallet
// 2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9.
const SolanaAccount = "Boa4U4LqByXXxDndijcYHHpfA8qf47SNYLV16zLYKxph"

// SVM pays the terms by a transaction with a fresh blockhash.
func SVM(terms Terms) Payment {
	amount, err := strconv.ParseUint(terms.Amount, 10, 64)
	if err != nil {
		panic(err)
	}
	feePayer, _ := terms.Extra["feePayer"].(string)
	blockhash := make([]byte, 32)
	_, _ = rand.Read(blockhash)
	transaction := SolanaTransaction(feePayer, terms.Asset, amount, [32]byte(blockhash))
	return Payment{
		Version: 2, Accepted: terms,
		Payload: map[string]any{"transaction": base64.StdEncoding.EncodeToString(transaction)},
	}
}

// SolanaTransaction is a version 0 transaction as x402 clients make it: compute limit, compute price, and one
// TransferChecked of the token program by SolanaPayer; the fee payer's signature is still empty.
func SolanaTransaction(feePayer, mint string, amount uint64, blockhash [32]byte) []byte {
	keys := []string{
		feePayer, SolanaPayer, // the two signers
		"BQ72nSv9f3PRyRKCBnHLVrerrv37CYTHm5h3s9VSGQDV", SolanaAccount, // token accounts
		"ComputeBudget111111111111111111111111111111", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", mint,
	}
	raw := append([]byte{2}, make([]byte, 64)...)
	raw = append(raw, []byte(strings.Repeat("\x1b", 64))...)
	raw = append(raw, 0x80, 2, 1, 3, byte(len(keys)))
	for _, key := range keys {
		raw = append(raw, unbase58(key)...)
	}
	raw = append(raw, blockhash[:]...)
	raw = append(raw, 3)
	raw = append(raw, 4, 0, 5, 2, 0x40, 0x0d, 0x03, 0)             // compute limit
	raw = append(raw, 4, 0, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0)          // compute price
	raw = append(raw, 5, 4, 2, 6, 3, 1, 10, 12)                    // TransferChecked: source, mint, destination, owner
	raw = append(binary.LittleEndian.AppendUint64(raw, amount), 6) // and the token's decimals
	return append(raw, 0)                                          // no address tables
}

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func base58(b []byte) (text string) {
	n, radix, digit := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int)
	for n.Sign() > 0 {
		n.DivMod(n, radix, digit)
		text = string(base58Alphabet[digit.Int64()]) + text
	}
	for i := 0; i < len(b) && b[i] == 0; i++ { // a leading zero byte is a digit of its own
		text = base58Alphabet[:1] + text
	}
	return text
}

// unbase58 gives 32 bytes.
func unbase58(text string) []byte {
	n := new(big.Int)
	for i := range len(text) {
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(strings.IndexByte(base58Alphabet, text[i]))))
	}
	return n.FillBytes(make([]byte, 32))
}
