package x402

import (
	"encoding/hex"
	"errors"
	"math/big"
	"strings"

	"golang.org/x/crypto/sha3"
)

// ByShort finds a network by the name that refunds use, as in base.
func ByShort(short string) (Network, bool) {
	for _, n := range networks {
		if n.Short == short {
			return n, true
		}
	}
	return Network{}, false
}

// CheckWallet tells what is wrong with an address that money is to be sent to, as far as the address itself shows. It is
// strict: what is sent to a wrong one is lost. On EVM chains mixed case must be the checksum of EIP-55. On Solana it
// must be a key that somebody can sign with; owners without one (programs' accounts, some multisigs) are refused.
func (n Network) CheckWallet(address string) error {
	if err := n.checkReceiver(address); err != nil {
		return err
	}
	if !n.IsSolana() {
		digits := address[2:]
		if strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits && checksummed(digits) != digits {
			return errors.New("its mixed case is no checksum (EIP-55): a digit is mistyped")
		}
		return nil
	}
	key, _ := decodeBase58(address) // checkReceiver has read it
	switch {
	case isProgram(address):
		return errors.New("this is a program of the chain, not a wallet")
	case !onCurve(key):
		return errors.New("nobody can sign for this address: it is an account of a program or a token account, not a wallet")
	}
	return nil
}

// checksummed writes the 40 digits of an address in the case that EIP-55 gives them.
func checksummed(digits string) string {
	lower := []byte(strings.ToLower(digits))
	keccak := sha3.NewLegacyKeccak256()
	_, _ = keccak.Write(lower)                      // never fails
	sum := hex.EncodeToString(keccak.Sum(nil)[:20]) // one digit of the hash for each of the address
	for i, c := range lower {
		if c >= 'a' && sum[i] >= '8' {
			lower[i] = c - 'a' + 'A'
		}
	}
	return string(lower)
}

// solanaPrograms are accounts of the chain whose addresses are on the curve, or may be.
var solanaPrograms = []string{
	"11111111111111111111111111111111",
	"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
	"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
	"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
	"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
	"Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
	"So11111111111111111111111111111111111111112",
	"1nc1nerator11111111111111111111111111111111",
	"metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s",
}

// isProgram knows the programs of Solana itself too, whose names are padded with ones.
func isProgram(address string) bool {
	const padding = "11111111111111"
	for _, program := range solanaPrograms {
		if address == program {
			return true
		}
	}
	return strings.Contains(address, padding) || strings.HasPrefix(address, "Sysvar")
}

var (
	curvePrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	curveD     = func() *big.Int { // -121665/121666
		inverse := new(big.Int).ModInverse(big.NewInt(121666), curvePrime)
		return inverse.Mod(inverse.Mul(inverse, big.NewInt(-121665)), curvePrime)
	}()
)

// onCurve tells whether 32 bytes are a point of Ed25519, so that there is a private key to them: x² = (y²-1)/(dy²+1)
// must be a square. y is little-endian, and its highest bit is the sign of x.
func onCurve(key []byte) bool {
	bigEndian := make([]byte, len(key))
	for i, b := range key {
		bigEndian[len(key)-1-i] = b
	}
	bigEndian[0] &= 0x7f
	y := new(big.Int).SetBytes(bigEndian)
	y2 := y.Mod(y.Mul(y, y), curvePrime)
	above := new(big.Int).Sub(y2, big.NewInt(1))
	below := new(big.Int).Add(new(big.Int).Mul(curveD, y2), big.NewInt(1)) // never 0: -1/d is no square
	return big.Jacobi(above.Mod(above.Mul(above, below), curvePrime), curvePrime) >= 0
}

// TransactionError says that a text has not the form of a transaction of its network.
type TransactionError struct{ Form string }

func (e *TransactionError) Error() string { return "not a transaction: must be " + e.Form }

// CheckTransaction tells whether a text has the form of a transaction of the network, and gives its one spelling. The
// error is a *TransactionError.
func (n Network) CheckTransaction(text string) (string, error) {
	if n.IsSolana() {
		if signature, ok := decodeBase58(text); !ok || len(signature) != solanaSignatureSize || strings.Trim(text, "1") == "" {
			return "", &TransactionError{"base58 of 64 bytes"}
		}
		return text, nil
	}
	hash, ok := lowerHex(text, 32, 32)
	if !ok || !strings.HasPrefix(text, "0x") || strings.Trim(hash[2:], "0") == "" {
		return "", &TransactionError{"0x and 64 hex digits, not all of them zero"}
	}
	return hash, nil
}
