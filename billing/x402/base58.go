package x402

import (
	"math/big"
	"strings"
)

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58LongestInput bounds the quadratic work of decoding: 64 bytes (a signature) have at most 88 digits.
const base58LongestInput = 88

// decodeBase58 reads the Bitcoin alphabet; leading ones are leading zero bytes.
func decodeBase58(s string) ([]byte, bool) {
	if s == "" || len(s) > base58LongestInput {
		return nil, false
	}
	n, radix := new(big.Int), big.NewInt(int64(len(base58Alphabet)))
	for i := range len(s) {
		digit := strings.IndexByte(base58Alphabet, s[i])
		if digit < 0 {
			return nil, false
		}
		n.Add(n.Mul(n, radix), big.NewInt(int64(digit)))
	}
	zeros := len(s) - len(strings.TrimLeft(s, "1"))
	return append(make([]byte, zeros), n.Bytes()...), true
}

func encodeBase58(b []byte) string {
	n, radix, digit := new(big.Int).SetBytes(b), big.NewInt(int64(len(base58Alphabet))), new(big.Int)
	var reversed []byte
	for n.Sign() > 0 {
		n.DivMod(n, radix, digit)
		reversed = append(reversed, base58Alphabet[digit.Int64()])
	}
	var text strings.Builder
	for i := 0; i < len(b) && b[i] == 0; i++ {
		text.WriteByte('1')
	}
	for i := len(reversed) - 1; i >= 0; i-- {
		text.WriteByte(reversed[i])
	}
	return text.String()
}
