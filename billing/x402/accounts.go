package x402

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

const tokenAccountProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"

// TokenAccount is the account on Solana that holds a wallet's USDC: the associated one, to which payments go.
func TokenAccount(wallet string) (string, error) {
	owner, ok := decodeBase58(wallet)
	if !ok || len(owner) != solanaKeySize {
		return "", fmt.Errorf("not a Solana address: %q", wallet)
	}
	solana, _ := NetworkOf(SolanaID)
	mint, program := mustKey(solana.Asset), mustKey(tokenAccountProgram)
	// The address is a hash of its seeds that nobody has a key to: the first that is no point of the curve, counting
	// down.
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, part := range [][]byte{owner, tokenProgram[:], mint[:], {byte(bump)}, program[:], []byte("ProgramDerivedAddress")} {
			h.Write(part)
		}
		if sum := h.Sum(nil); !onCurve(sum) {
			return encodeBase58(sum), nil
		}
	}
	return "", fmt.Errorf("%q has no token account", wallet)
}

// SolanaMessage is what tells one transaction of Solana from all others, whoever else signs it.
type SolanaMessage struct {
	// Hash is base64 of SHA-256 over the message, as Payment.Nonce has it.
	Hash string
	// Blockhash is the recent one that limits its life, in base58.
	Blockhash string
	// Durable means that the first instruction advances a nonce account, so that the blockhash limits nothing.
	Durable bool
}

// ReadSolanaMessage reads a transaction in the chain's encoding: any, not only payments.
func ReadSolanaMessage(transaction []byte) (SolanaMessage, error) {
	r := &solanaReader{rest: transaction}
	r.bytes(r.length() * solanaSignatureSize)
	hash := sha256.Sum256(r.rest)
	if r.byte()&0x80 != 0 { // a version stands before the number of signers
		r.byte()
	}
	r.bytes(2) // the numbers of read-only accounts
	keys := r.bytes(r.length() * solanaKeySize)
	blockhash := r.bytes(solanaKeySize)
	instructions := r.length()
	if r.broken {
		return SolanaMessage{}, errSolanaForm
	}
	m := SolanaMessage{Hash: base64.StdEncoding.EncodeToString(hash[:]), Blockhash: encodeBase58(blockhash)}
	if instructions == 0 {
		return m, nil
	}
	program := int(r.byte())
	r.bytes(r.length())
	data := r.bytes(r.length())
	if r.broken {
		return SolanaMessage{}, errSolanaForm
	}
	const advanceNonce = "\x04\x00\x00\x00"
	if at := program * solanaKeySize; at+solanaKeySize <= len(keys) {
		m.Durable = solanaKey(keys[at:at+solanaKeySize]) == (solanaKey{}) && string(data) == advanceNonce
	}
	return m, nil
}
