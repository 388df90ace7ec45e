package x402

import (
	"bytes"
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/x402-foundation/x402/go/types"
)

// ProofLimit is the longest payment signature that is read, in bytes as sent.
const ProofLimit = 64 << 10

// InvalidError says why a proof of payment is refused. Nothing was sent to settle.
type InvalidError struct {
	// Reason is a short code in snake_case, ours or the facilitator's.
	Reason string
	// Message says it in a sentence; never holds what was sent, and may be empty.
	Message string
}

func (e *InvalidError) Error() string {
	if e.Message == "" {
		return "the payment is not valid: " + e.Reason
	}
	return "the payment is not valid: " + e.Message
}

func invalid(reason, message string) error { return &InvalidError{reason, message} }

// Proof is a payment signature that was read and not yet compared with any terms.
type Proof struct {
	// Key is what a payment counts once by: network, token, payer and nonce; on Solana network and the message's hash.
	// It cannot be changed without a new signature of the payer.
	Key string
	// Network is the one that the payment is for.
	Network Network
	// Payer is who pays: an address in lower case, or the owner of the tokens on Solana.
	Payer string

	accepted accepted
	evm      *authorization
	solana   *solanaPayment
	// resource is what the payer says it is for; only facilitators read it.
	resource *types.ResourceInfo
	// payload is rebuilt from what was understood, so that the facilitator reads what was checked here and no more.
	payload any
}

// accepted is the payer's copy of the terms. It is compared with ours and never used in their place.
type accepted struct {
	Scheme  string `json:"scheme"`
	Network string `json:"network"`
	Asset   string `json:"asset"`
	Amount  string `json:"amount"`
	PayTo   string `json:"payTo"`
}

// ParseProof reads a payment signature: the x402 payload in base64 (any alphabet, padded or not) or, leniently, as it
// is. It needs no configuration and no clock, so that a proof that was used before is known by its Key even after it
// expired. The error is always an *InvalidError.
func ParseProof(text string) (Proof, error) {
	document, err := decodeProof(text)
	if err != nil {
		return Proof{}, err
	}
	// A repeated or oddly spelled name could mean one thing here and another at the facilitator: strict decoding.
	var wire struct {
		Version  *jsontext.Value     `json:"x402Version"`
		Payload  jsontext.Value      `json:"payload"`
		Accepted *accepted           `json:"accepted"`
		Resource *types.ResourceInfo `json:"resource"`
	}
	if err := json.Unmarshal(document, &wire); err != nil {
		if !jsontext.Value(document).IsValid() {
			return Proof{}, invalid("not_json", "the payment signature is not the base64 of a JSON object")
		}
		return Proof{}, invalid("malformed", "the payment signature is not an x402 payment payload")
	}
	switch {
	case wire.Version == nil:
		return Proof{}, invalid("version_missing", "the payment signature has no x402Version")
	case wire.Version.String() != "2":
		return Proof{}, invalid("version", "only x402Version 2 is understood")
	case wire.Accepted == nil || wire.Payload.Kind() != jsontext.KindBeginObject:
		return Proof{}, invalid("malformed", "the payment payload needs payload and accepted")
	case wire.Accepted.Scheme != schemeExact:
		return Proof{}, invalid("scheme", "only the scheme exact is understood")
	}
	n, known := NetworkOf(wire.Accepted.Network)
	if !known {
		return Proof{}, invalid("network", "the payment is for a network that is not offered")
	}
	p := Proof{Network: n, accepted: *wire.Accepted, resource: wire.Resource}
	if n.IsSolana() {
		err = p.readSolana(wire.Payload)
	} else {
		err = p.readEVM(wire.Payload)
	}
	if err != nil {
		return Proof{}, err
	}
	return p, nil
}

var toStandardAlphabet = strings.NewReplacer("-", "+", "_", "/")

func decodeProof(text string) ([]byte, error) {
	text = strings.Trim(text, " \t\r\n")
	switch {
	case text == "":
		return nil, invalid("empty", "the payment signature is empty")
	case len(text) > ProofLimit:
		return nil, invalid("too_large", "the payment signature is over 64 KiB")
	case text[0] == '{':
		return []byte(text), nil
	}
	document, err := base64.RawStdEncoding.DecodeString(toStandardAlphabet.Replace(strings.TrimRight(text, "=")))
	if err != nil {
		return nil, invalid("not_base64", "the payment signature is not base64")
	}
	if document = bytes.TrimSpace(document); len(document) == 0 || document[0] != '{' {
		return nil, invalid("not_json", "the payment signature is not the base64 of a JSON object")
	}
	return document, nil
}

// authorization is a transfer that the payer signed by EIP-3009. Numbers are decimal strings, the nonce is in lower case; addresses
// are as the payer spelled them.
type authorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

func (p *Proof) readEVM(payload jsontext.Value) error {
	var wire struct {
		Signature     string          `json:"signature"`
		Authorization *authorization  `json:"authorization"`
		Permit2       *jsontext.Value `json:"permit2Authorization"`
	}
	if err := json.Unmarshal(payload, &wire); err != nil {
		return invalid("malformed", "the payload is not an EIP-3009 authorization with its signature")
	}
	if wire.Permit2 != nil || wire.Authorization == nil {
		return invalid("not_eip3009", "only EIP-3009 authorizations (transferWithAuthorization) are taken")
	}
	a, signature := wire.Authorization, ""
	var ok bool
	if a.Nonce, ok = lowerHex(a.Nonce, 32, 32); !ok {
		return invalid("nonce", "the nonce is not 32 bytes in hex")
	}
	// 64 bytes is the compact form of a key's signature; contracts (EIP-1271, EIP-6492) need more.
	if signature, ok = lowerHex(wire.Signature, 64, 16<<10); !ok {
		return invalid("signature", "the signature is not hex of at least 64 bytes")
	}
	if !evmAddress.MatchString(a.From) || !evmAddress.MatchString(a.To) {
		return invalid("address", "from and to must be addresses")
	}
	if strings.Trim(a.From[2:], "0") == "" { // what a broken signature recovers to
		return invalid("address", "nobody can pay from the zero address")
	}
	for _, number := range []string{a.Value, a.ValidAfter, a.ValidBefore} {
		if !isDecimal(number) {
			return invalid("number", "value, validAfter and validBefore must be decimal strings")
		}
	}
	p.evm, p.Payer = a, strings.ToLower(a.From)
	p.Key = strings.Join([]string{p.Network.ID, strings.ToLower(p.Network.Asset), p.Payer, a.Nonce}, "|")
	p.payload = struct {
		Signature     string         `json:"signature"`
		Authorization *authorization `json:"authorization"`
	}{signature, a}
	return nil
}

// lowerHex reads hex of least to most bytes, with or without 0x, and gives it in lower case with 0x.
func lowerHex(s string, least, most int) (string, bool) {
	s = strings.ToLower(strings.TrimPrefix(s, "0x"))
	if len(s)%2 != 0 || len(s) < 2*least || len(s) > 2*most || strings.Trim(s, "0123456789abcdef") != "" {
		return "", false
	}
	return "0x" + s, true
}

// isDecimal accepts the one spelling of a whole number that fits 256 bits, give or take a digit.
func isDecimal(s string) bool {
	const digits = 78
	return s != "" && len(s) <= digits && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

func (p *Proof) readSolana(payload jsontext.Value) error {
	var wire struct {
		Transaction string `json:"transaction"`
	}
	if err := json.Unmarshal(payload, &wire); err != nil || wire.Transaction == "" {
		return invalid("malformed", "the payload must hold a transaction in base64")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(wire.Transaction)
	if err != nil {
		return invalid("transaction", "the transaction is not base64")
	}
	payment, err := readSolana(raw)
	if err != nil {
		return invalid("transaction", err.Error())
	}
	p.solana, p.Payer = &payment, payment.authority.String()
	p.Key = p.Network.ID + "|" + payment.hash
	p.payload = map[string]string{"transaction": base64.StdEncoding.EncodeToString(raw)}
	return nil
}

// farFuture stands for any time that a clock cannot show.
var farFuture = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// unixTime reads a decimal that isDecimal accepted.
func unixTime(decimal string) time.Time {
	const digits = 11 // 10^11 seconds are past the year 5000
	if len(decimal) > digits {
		return farFuture
	}
	var seconds int64
	for _, digit := range decimal {
		seconds = seconds*10 + int64(digit-'0')
	}
	return time.Unix(seconds, 0).UTC()
}
