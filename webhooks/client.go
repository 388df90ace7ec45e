package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of one attempt, whatever the receiver does.
const (
	tlsTimeout       = 5 * time.Second
	attemptTimeout   = 15 * time.Second // of which the answer's headers get two thirds
	bodyTimeout      = time.Second      // for the answer's body, which only frees the connection for the next attempt
	headerBytesMax   = 32 << 10
	bodyBytesMax     = 16 << 10
	retryAfterMax    = time.Hour
	idleConnections  = 512
	idleTimeout      = 30 * time.Second
	idlePerHost      = 64 // tenants share hosts
	redirectStatuses = 3  // hundreds
)

// sender makes attempts. It is safe for concurrent use.
type sender struct{ http *http.Client }

// newSender trusts the system's roots and the given ones. Connections to one host are not limited: many
// tenants may share a receiver, and one of its slow addresses must not hold up the others.
func newSender(g *Guard, roots *x509.CertPool, timeout time.Duration) *sender {
	return &sender{&http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // one from the environment would dial for us, past the guard
			DialContext:            g.dial,
			ForceAttemptHTTP2:      true,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout:    tlsTimeout,
			ResponseHeaderTimeout:  timeout - timeout/3,
			MaxResponseHeaderBytes: headerBytesMax,
			DisableCompression:     true, // what is not unpacked cannot explode
			MaxIdleConns:           idleConnections,
			MaxIdleConnsPerHost:    idlePerHost,
			IdleConnTimeout:        idleTimeout,
		},
	}}
}

// Roots are the system's trusted roots and those of a PEM file ("": none).
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil // the system's
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("roots for webhooks: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("roots for webhooks: %s has no certificate in PEM", file)
	}
	return pool, nil
}

// answer is how a receiver answered. Status is 0 when it did not; fault is then the reason.
type answer struct {
	status     int
	retryAfter time.Duration // at most an hour; 0 when it did not say
	fault      string        // "" for 2xx
}

func (a answer) ok() bool { return a.status/100 == 2 }

// send makes one attempt. It never takes longer than the sender's timeout.
func (s *sender) send(ctx context.Context, url string, headers http.Header, body []byte) answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return answer{fault: "the address cannot be used"}
	}
	request.Header = headers
	response, err := s.http.Do(request)
	if err != nil {
		return answer{fault: reason(err)}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection, without any timeout
		stop := time.AfterFunc(bodyTimeout, cancel)
		defer stop.Stop()
		// The status has decided; the rest is read so that the connection can be used again.
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, bodyBytesMax))
	}
	a := answer{status: response.StatusCode}
	switch {
	case a.ok():
	case a.status/100 == redirectStatuses:
		a.fault = fmt.Sprintf("answered %d: redirects are not followed", a.status)
	default:
		a.fault = fmt.Sprintf("answered %d", a.status)
		a.retryAfter = retryAfter(response)
	}
	return a
}

// retryAfter reads Retry-After of 429 and 503, in seconds or as a date.
func retryAfter(r *http.Response) time.Duration {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	text := r.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, retryAfterMax)
	}
	until, err := http.ParseTime(text)
	sent, sentErr := http.ParseTime(r.Header.Get("Date")) // by the receiver's own clock
	if err != nil || sentErr != nil {
		return 0
	}
	return min(max(until.Sub(sent), 0), retryAfterMax)
}

// reason classifies a failure without an answer. It never says which address answered: the owner of a
// webhook must not be able to explore networks with it.
func reason(err error) string {
	var dns *net.DNSError
	var netErr net.Error
	var unknownRoot x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.Is(err, errBlocked):
		return "blocked: " + errBlocked.Error()
	case errors.As(err, &dns):
		return "the host does not resolve"
	case errors.As(err, &unknownRoot), errors.As(err, &wrongHost), errors.As(err, &invalid), errors.As(err, &verification):
		return "the certificate is not valid"
	case errors.As(err, &record), errors.As(err, &alert), contains(err, "tls: ", "gave HTTP response to HTTPS"):
		return "TLS failed"
	case contains(err, "response headers exceeded", "header list too large", "header list larger"):
		return "the answer's headers are too large"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.As(err, &netErr) && netErr.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE),
		contains(err, "stream error", "GOAWAY"):
		return "the connection was lost"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host cannot be reached"
	}
	return "the answer is no valid HTTP"
}

// contains finds the errors that net/http has no type for.
func contains(err error, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}
