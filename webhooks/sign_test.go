package webhooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// hmacHex is the signature of a body as the documentation tells receivers to compute it.
func hmacHex(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}
