package x402

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

const (
	solanaKeySize       = 32
	solanaSignatureSize = 64
	// solanaPacketSize is the most that the chain takes as one transaction.
	solanaPacketSize = 1232
)

type solanaKey [solanaKeySize]byte

func (k solanaKey) String() string { return encodeBase58(k[:]) }

func mustKey(s string) solanaKey {
	b, ok := decodeBase58(s)
	if !ok || len(b) != solanaKeySize {
		panic("not a Solana key: " + s)
	}
	return solanaKey(b)
}

var tokenProgram = mustKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")

// transferChecked is the first byte of that instruction of the token program.
const transferChecked = 12

// solanaPayment is what a partially signed transaction says, as far as a deposit needs it.
type solanaPayment struct {
	// hash is base64 of SHA-256 over the message, which every signer commits to. Signatures are not part of it: the
	// fee payer's is still missing.
	hash                                 string
	feePayer                             solanaKey
	source, mint, destination, authority solanaKey
	amount                               uint64
	decimals                             byte
}

var (
	errSolanaForm     = errors.New("the transaction is not in the canonical form of a Solana transaction")
	errSolanaTransfer = errors.New("the transaction must hold exactly one TransferChecked of the token program")
)

// readSolana reads a whole transaction. The message's hash is the key by which a payment counts once, so any second
// spelling of the same message (an overlong length, trailing bytes) is refused: whoever decodes and encodes it again,
// as facilitators do, would send the same payment under another key.
func readSolana(raw []byte) (solanaPayment, error) {
	if len(raw) > solanaPacketSize {
		return solanaPayment{}, errSolanaForm
	}
	r := &solanaReader{rest: raw}
	signatures := r.length()
	r.bytes(signatures * solanaSignatureSize)
	message := r.rest
	payment, err := readMessage(r, signatures)
	if err != nil {
		return solanaPayment{}, err
	}
	hash := sha256.Sum256(message)
	payment.hash = base64.StdEncoding.EncodeToString(hash[:])
	return payment, nil
}

type solanaInstruction struct {
	program  int
	accounts []byte
	data     []byte
}

func readMessage(r *solanaReader, signatures int) (solanaPayment, error) {
	first := r.byte()
	versioned := first&0x80 != 0
	if versioned {
		if first != 0x80 { // version 0 is the only one there is
			return solanaPayment{}, errSolanaForm
		}
		first = r.byte()
	}
	signers := int(first)
	r.bytes(2) // the numbers of read-only accounts
	var keys []solanaKey
	for n := r.length(); n > 0 && !r.broken; n-- {
		var key solanaKey
		copy(key[:], r.bytes(solanaKeySize))
		keys = append(keys, key)
	}
	r.bytes(solanaKeySize) // the recent blockhash
	var instructions []solanaInstruction
	for n := r.length(); n > 0 && !r.broken; n-- {
		instructions = append(instructions, solanaInstruction{int(r.byte()), r.bytes(r.length()), r.bytes(r.length())})
	}
	if versioned {
		for n := r.length(); n > 0 && !r.broken; n-- { // address tables
			r.bytes(solanaKeySize)
			r.bytes(r.length())
			r.bytes(r.length())
		}
	}
	if r.broken || len(r.rest) > 0 || signers == 0 || signers != signatures || signers > len(keys) {
		return solanaPayment{}, errSolanaForm
	}
	return readTransfer(keys, signers, instructions)
}

// readTransfer finds the one transfer. Its accounts must be written out: what an address table holds is not known here.
func readTransfer(keys []solanaKey, signers int, instructions []solanaInstruction) (solanaPayment, error) {
	var found *solanaPayment
	for _, in := range instructions {
		if in.program >= len(keys) || keys[in.program] != tokenProgram {
			continue
		}
		const dataSize, accountsLeast = 10, 4
		if found != nil || len(in.data) != dataSize || in.data[0] != transferChecked || len(in.accounts) < accountsLeast {
			return solanaPayment{}, errSolanaTransfer
		}
		for _, account := range in.accounts[:accountsLeast] {
			if int(account) >= len(keys) {
				return solanaPayment{}, errSolanaTransfer
			}
		}
		if int(in.accounts[3]) >= signers {
			return solanaPayment{}, errors.New("the owner of the tokens is not a signer")
		}
		found = &solanaPayment{
			feePayer: keys[0],
			source:   keys[in.accounts[0]], mint: keys[in.accounts[1]],
			destination: keys[in.accounts[2]], authority: keys[in.accounts[3]],
			amount: binary.LittleEndian.Uint64(in.data[1:]), decimals: in.data[9],
		}
	}
	if found == nil {
		return solanaPayment{}, errSolanaTransfer
	}
	return *found, nil
}

// solanaReader takes bytes off the front; once something is missing it stays broken and gives zeros.
type solanaReader struct {
	rest   []byte
	broken bool
}

func (r *solanaReader) bytes(n int) []byte {
	if r.broken || n > len(r.rest) {
		r.broken, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *solanaReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// length reads the chain's compact form of a number up to 65,535: seven bits a byte, three bytes at most. A last byte of
// zero after another is an overlong spelling.
func (r *solanaReader) length() int {
	n := 0
	for i := range 3 {
		b := r.byte()
		n |= int(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			if (b == 0 && i > 0) || n > 0xffff {
				r.broken = true
			}
			return n
		}
	}
	r.broken = true
	return 0
}
