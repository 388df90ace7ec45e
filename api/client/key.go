package client

import (
	"encoding/hex"
	"math/big"
	"strings"
)

// workspaceOf reads the workspace id that a key carries: 22 base62 digits after aan_o or aan_s. It is "" when there is none.
// Whether the key is a good one is the service's to say.
func workspaceOf(key string) string {
	const digits, markLength = 22, 1
	rest, ok := strings.CutPrefix(key, "aan_")
	if !ok || len(rest) <= markLength+digits || rest[markLength+digits] != '_' {
		return ""
	}
	id := new(big.Int)
	for _, c := range []byte(rest[markLength : markLength+digits]) {
		value := strings.IndexByte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", c)
		if value < 0 {
			return ""
		}
		id.Add(id.Mul(id, big.NewInt(62)), big.NewInt(int64(value)))
	}
	if id.BitLen() > 128 {
		return ""
	}
	h := hex.EncodeToString(id.FillBytes(make([]byte, 16)))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
