package x402

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// answerLimit is the most that is read of a facilitator's answer, in bytes.
const answerLimit = 1 << 20

const (
	connectTimeout    = 5 * time.Second
	answerHeaderLimit = 64 << 10
)

var errAnswerTooLarge = errors.New("the answer is over 1 MiB")

// checkURL accepts https, or http to loopback, without credentials in it; it refuses test networks, where a payment
// costs nothing.
func checkURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("url must be an absolute https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("url must hold neither credentials nor a query")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, errors.New("url must be https (http is for loopback only)")
	case isTestnet(u):
		return nil, errors.New("url is a facilitator of test networks: its payments are worth nothing")
	}
	return u, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && ip.IsLoopback())
}

// isTestnet knows x402.org, which the SDK takes by default, and hosts or paths that say so.
func isTestnet(u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "x402.org" || strings.HasSuffix(host, ".x402.org") {
		return true
	}
	words := strings.FieldsFunc(host+"/"+strings.ToLower(u.Path), func(c rune) bool { return strings.ContainsRune("./-_", c) })
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"testnet", "testnets", "sepolia", "devnet", "amoy", "fuji"}, word)
	})
}

// courier carries requests to one facilitator: with its credentials, over a new connection each (so that nothing is ever
// sent twice behind our back), reading no more than answerLimit.
type courier struct {
	transport *http.Transport
	sign      credentials
	now       func() time.Time
}

func newHTTPClient(u *url.URL, sign credentials, now func() time.Time) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout}
	if u.Scheme == "http" {
		dialer.Control = loopbackOnly // whatever localhost resolves to
	}
	return &http.Client{
		Transport: &courier{
			transport: &http.Transport{
				DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout,
				DisableKeepAlives: true, MaxResponseHeaderBytes: answerHeaderLimit,
			},
			sign: sign, now: now,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func loopbackOnly(_, address string, _ syscall.RawConn) error {
	if peer, err := netip.ParseAddrPort(address); err != nil || !peer.Addr().IsLoopback() {
		return errors.New("http is for loopback only")
	}
	return nil
}

// RoundTrip sends one request and notes in its context how far it came.
func (c *courier) RoundTrip(r *http.Request) (*http.Response, error) {
	n := noteOf(r.Context())
	r = r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { n.connected.Store(true) },
	}))
	if err := c.sign(r, c.now()); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	n.status.Store(int32(answer.StatusCode))
	answer.Header.Del("Extension-Responses") // the SDK writes it to the process's log
	answer.Body = oneMeaning(&limitedBody{answer.Body, answerLimit})
	return answer, nil
}

// fields are what is read of an answer, in the one spelling that counts.
var fields = []string{
	"isValid", "invalidReason", "invalidMessage", "payer", "success", "errorReason", "errorMessage", "transaction", "network", "amount",
	"kinds", "extensions", "signers",
}

var errTwoMeanings = errors.New("an answer that says a thing twice")

// oneMeaning reads an answer whole, and fails where it could be read in two ways: the SDK takes the last of repeated
// names, in whatever case they are.
func oneMeaning(body io.ReadCloser) io.ReadCloser {
	text, err := io.ReadAll(body)
	var members map[string]jsontext.Value
	if err == nil && json.Unmarshal(text, &members) == nil {
		for name := range members {
			if slices.ContainsFunc(fields, func(field string) bool { return field != name && strings.EqualFold(field, name) }) {
				err = errTwoMeanings
			}
		}
	} else if err == nil && stdjson.Valid(text) {
		err = errTwoMeanings // a repeated name, or bytes that are no text
	}
	if err == nil {
		err = io.EOF
	}
	return &readBody{bytes.NewReader(text), err, body}
}

// readBody gives what was read, and then how the reading ended.
type readBody struct {
	text *bytes.Reader
	end  error
	io.Closer
}

func (b *readBody) Read(p []byte) (int, error) {
	if b.text.Len() == 0 || b.end != io.EOF {
		return 0, b.end
	}
	return b.text.Read(p)
}

// limitedBody fails once more than left bytes are read.
type limitedBody struct {
	io.ReadCloser
	left int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errAnswerTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.left -= n
	if b.left < 0 {
		return 0, errAnswerTooLarge
	}
	return n, err
}

// note is how far a call came. Only connected == false proves that nothing was sent.
type note struct {
	connected atomic.Bool
	status    atomic.Int32
}

type noteKey struct{}

func withNote(ctx context.Context) (context.Context, *note) {
	n := &note{}
	return context.WithValue(ctx, noteKey{}, n), n
}

func noteOf(ctx context.Context) *note {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// fault says in our own words why a call gave no answer. What the facilitator wrote stays out of logs and errors: it may
// repeat a credential.
func (n *note) fault(err error) string {
	var timeout net.Error
	status := int(n.status.Load())
	switch {
	case errors.Is(err, errAnswerTooLarge):
		return errAnswerTooLarge.Error()
	case errors.Is(err, context.Canceled):
		return "given up by the caller"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Sprintf("HTTP %d: it does not accept our credentials", status)
	case status != 0 && status != http.StatusOK:
		return fmt.Sprintf("HTTP %d", status)
	case status == http.StatusOK:
		return "an answer that is not x402"
	case !n.connected.Load():
		return "cannot be reached"
	}
	return "the connection broke"
}
