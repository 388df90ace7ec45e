package facilitatortest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Answer is what the server does with one call.
type Answer func(*call)

type call struct {
	w       http.ResponseWriter
	r       *http.Request
	got     Request
	closing <-chan struct{}
}

// JSON answers with a status and a document.
func JSON(status int, document any) Answer {
	return func(c *call) {
		c.w.Header().Set("Content-Type", "application/json")
		c.w.WriteHeader(status)
		_ = json.NewEncoder(c.w).Encode(document)
	}
}

// Status answers with a status and text that is no JSON, as a proxy in front would (504, 500).
func Status(status int) Answer {
	return func(c *call) { http.Error(c.w, "upstream request failed", status) }
}

// Text answers 200 with any body.
func Text(body string) Answer {
	return func(c *call) { _, _ = io.WriteString(c.w, body) }
}

// Valid is the good answer of /verify.
func Valid(c *call) {
	JSON(http.StatusOK, map[string]any{"isValid": true, "payer": c.got.payer()})(c)
}

// Invalid is a verdict of /verify against the payment.
func Invalid(reason string) Answer {
	return JSON(http.StatusOK, map[string]any{"isValid": false, "invalidReason": reason})
}

// Refused is a verdict of /verify by HTTP status, as some have it: 400 with a reason.
func Refused(status int, reason string) Answer {
	return JSON(status, map[string]any{"isValid": false, "invalidReason": reason})
}

// Settled is the good answer of /settle. Its transaction follows from the payment, so that the same payment has the same.
func Settled(c *call) { settlement(nil)(c) }

// EmptyTransaction is success without a transaction.
func EmptyTransaction(c *call) { settlement(map[string]any{"transaction": ""})(c) }

// NoHash is success with a transaction that is none.
func NoHash(c *call) { settlement(map[string]any{"transaction": "done"})(c) }

// SettledBut is the good answer of /settle with one field changed.
func SettledBut(field string, value any) Answer { return settlement(map[string]any{field: value}) }

// WrongNetwork is success on another network than asked.
func WrongNetwork(c *call) { settlement(map[string]any{"network": "eip155:84532"})(c) }

// Failed is HTTP 200 with success: false.
func Failed(reason string) Answer {
	return settlement(map[string]any{"success": false, "errorReason": reason, "transaction": ""})
}

// Pending is success: false with a transaction that is not confirmed yet.
func Pending(c *call) {
	settlement(map[string]any{"success": false, "errorReason": "settlement_pending"})(c)
}

// FailedStatus is an error of /settle by HTTP status with a reason in the body.
func FailedStatus(status int, reason string) Answer {
	return func(c *call) {
		JSON(status, map[string]any{"success": false, "errorReason": reason, "transaction": "", "network": c.got.Terms.Network})(c)
	}
}

func settlement(change map[string]any) Answer {
	return func(c *call) {
		document := map[string]any{
			"success": true, "payer": c.got.payer(), "transaction": Transaction(c.got), "network": c.got.Terms.Network,
		}
		for name, value := range change {
			document[name] = value
		}
		JSON(http.StatusOK, document)(c)
	}
}

// Transaction is the hash that the server gives a settlement: it follows from the payment.
func Transaction(r Request) string {
	var payment struct {
		Payload json.RawMessage `json:"payload"`
	}
	_ = json.Unmarshal(r.Payment, &payment)
	hash := sha256.Sum256(payment.Payload)
	if strings.HasPrefix(r.Terms.Network, "solana:") {
		return base58(append(hash[:], hash[:]...))
	}
	return "0x" + hex.EncodeToString(hash[:])
}

func (r Request) payer() string {
	var payment struct {
		Payload struct {
			Authorization struct {
				From string `json:"from"`
			} `json:"authorization"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(r.Payment, &payment)
	return payment.Payload.Authorization.From
}

// Hang gives no answer until the caller leaves or the server closes.
func Hang(c *call) {
	select {
	case <-c.r.Context().Done():
	case <-c.closing:
	}
}

// Slow waits before it answers.
func Slow(wait time.Duration, then Answer) Answer {
	return func(c *call) {
		select {
		case <-time.After(wait):
			then(c)
		case <-c.r.Context().Done():
		case <-c.closing:
		}
	}
}

// Wait answers once the channel is closed: for tests that act in between.
func Wait(until <-chan struct{}, then Answer) Answer {
	return func(c *call) {
		select {
		case <-until:
			then(c)
		case <-c.r.Context().Done():
		case <-c.closing:
		}
	}
}

// Reset breaks the connection without an answer.
func Reset(c *call) {
	hijacker, ok := c.w.(http.Hijacker)
	if !ok {
		panic("the connection cannot be taken over")
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that closing sends a reset
	}
	_ = conn.Close()
}

// Huge answers 200 with a JSON object of more than that many bytes.
func Huge(size int) Answer {
	return func(c *call) {
		_, _ = io.WriteString(c.w, `{"padding":"`+strings.Repeat("x", size)+`"}`)
	}
}

// Redirect sends the caller elsewhere (308).
func Redirect(to string) Answer {
	return func(c *call) { http.Redirect(c.w, c.r, to, http.StatusPermanentRedirect) }
}
