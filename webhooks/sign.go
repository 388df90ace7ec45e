package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sign puts the signatures of a body into the headers: X-AANet-Signature over the body alone, and those
// of Standard Webhooks, which cover id and time too. previous is the secret from before a rotation, or "".
func sign(h http.Header, id string, at time.Time, body []byte, secret, previous string) error {
	stamp := strconv.FormatInt(at.Unix(), 10)
	standard, err := standardSignature(secret, id, stamp, body)
	if err != nil {
		return err
	}
	h.Set("X-AANet-Signature", bodySignature(secret, body))
	if previous != "" {
		older, err := standardSignature(previous, id, stamp, body)
		if err != nil {
			return err
		}
		standard += " " + older
		h.Set("X-AANet-Signature-Previous", bodySignature(previous, body))
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", standard)
	return nil
}

// bodySignature is keyed by the secret as it is shown, prefix included.
func bodySignature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// standardSignature is keyed by the bytes that stand behind the prefix in base64.
func standardSignature(secret, id, stamp string, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return "", fmt.Errorf("a webhook's secret is not in the form %s…", secretPrefix)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
