package webhooks

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"
)

// certificate makes a self-signed one for 127.0.0.1 and names, and trusts it.
func certificate(t *testing.T, roots *x509.CertPool, notAfter time.Time, ip string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "receiver"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: notAfter, IPAddresses: []net.IP{net.ParseIP(ip)}, DNSNames: []string{"rebind.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	roots.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// listen opens a port on loopback whose connections are handed to serve; config nil means no TLS.
func listen(t *testing.T, config *tls.Config, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			conn := raw
			if config != nil {
				conn = tls.Server(raw, config)
			}
			go func() { defer raw.Close(); serve(conn) }()
		}
	}()
	return l.Addr().String()
}

// says answers any request with a text, then waits until the other side closes.
func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// repeats answers with a beginning, then with a piece again and again.
func repeats(start, piece string, every time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, err := io.WriteString(c, start)
		for err == nil {
			_, err = io.WriteString(c, piece)
			time.Sleep(every)
		}
	}
}

// breaks answers with a text and resets the connection.
func breaks(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, text)
		if t, ok := c.(*tls.Conn); ok {
			_ = t.NetConn().(*net.TCPConn).SetLinger(0)
		}
	}
}

const long = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n"

func TestHostileReceivers(t *testing.T) {
	roots := x509.NewCertPool()
	good := &tls.Config{Certificates: []tls.Certificate{certificate(t, roots, time.Now().Add(time.Hour), "127.0.0.1")}}
	expired := &tls.Config{Certificates: []tls.Certificate{certificate(t, roots, time.Now().Add(-time.Hour), "127.0.0.1")}}
	foreign := &tls.Config{Certificates: []tls.Certificate{certificate(t, roots, time.Now().Add(time.Hour), "127.0.0.2")}}
	unknown := &tls.Config{Certificates: []tls.Certificate{certificate(t, x509.NewCertPool(), time.Now().Add(time.Hour), "127.0.0.1")}}
	old := &tls.Config{Certificates: good.Certificates, MaxVersion: tls.VersionTLS11}
	http2 := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	http2.EnableHTTP2, http2.Config.ErrorLog = true, slog.NewLogLogger(slog.DiscardHandler, 0)
	http2.StartTLS()
	t.Cleanup(http2.Close)
	roots.AddCert(http2.Certificate())
	for _, c := range []struct {
		name   string
		tls    *tls.Config
		serve  func(net.Conn)
		status int
		fault  string // "" for a success
	}{
		{"redirect to a private address", good, says("HTTP/1.1 302 Found\r\nLocation: https://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"), 302, "answered 302: redirects are not followed"},
		{"redirect to itself", good, says("HTTP/1.1 307 X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), 307, "answered 307: redirects are not followed"},
		{"endless header", good, repeats("HTTP/1.1 200 OK\r\n", strings.Repeat("X-A: bbbbbbbbbbbbbbbbbbbb\r\n", 100), 0), 0, "the answer's headers are too large"},
		{"one header of a megabyte", good, says("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("b", 1<<20) + "\r\n\r\n"), 0, "the answer's headers are too large"},
		{"endless status line", good, repeats("HTTP/1.1 200 ", "OOOOOOOOOOOOOOOOOOOO", 0), 0, "the answer's headers are too large"},
		{"endless body", good, repeats(long+"\r\n", strings.Repeat("x", 4096), 0), 200, ""},
		{"body that drips", good, repeats(long+"\r\n", "x", 50*time.Millisecond), 200, ""},
		{"headers that drip", good, repeats("HTTP/1.1 200 OK\r\n", "a:b\r\n", 50*time.Millisecond), 0, "timed out"},
		{"gzip bomb", good, repeats(long+"Content-Encoding: gzip\r\n\r\n", strings.Repeat("\x00", 4096), 0), 200, ""},
		{"body shorter than it says", good, breaks(long + "\r\nshort"), 200, ""},
		{"reset at once", good, breaks(""), 0, "the connection was lost"},
		{"reset in the headers", good, breaks("HTTP/1.1 200 OK\r\nX-A: b\r\n"), 0, "the connection was lost"},
		{"flood of 1xx", good, repeats("", "HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n", 0), 0, "the answer's headers are too large"},
		{"101", good, says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), 101, "answered 101"},
		{"no HTTP", good, says("hello\r\n\r\n"), 0, "the answer is no valid HTTP"},
		{"204", good, says("HTTP/1.1 204 No Content\r\n\r\n"), 204, ""},
		{"silence", good, says(""), 0, "timed out"},
		{"silence before TLS", nil, says(""), 0, "timed out"},
		{"no TLS", nil, says("HTTP/1.1 200 OK\r\n\r\n"), 0, "TLS failed"},
		{"TLS 1.1", old, says("HTTP/1.1 204 No Content\r\n\r\n"), 0, "TLS failed"},
		{"expired certificate", expired, says(""), 0, "the certificate is not valid"},
		{"certificate of another host", foreign, says(""), 0, "the certificate is not valid"},
		{"unknown authority", unknown, says(""), 0, "the certificate is not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			attempt(t, roots, "https://"+listen(t, c.tls, c.serve)+"/", answer{status: c.status, fault: c.fault})
		})
	}
	t.Run("HTTP/2 stream reset", func(t *testing.T) { attempt(t, roots, http2.URL, answer{fault: "the connection was lost"}) })
	t.Run("nobody listens", func(t *testing.T) {
		attempt(t, roots, "https://127.0.0.1:1", answer{fault: "the connection was refused"})
	})
}

// Timeouts of an attempt: patience for an outcome that a busy machine may be slow to reach, soon for one that time brings.
const (
	patience = time.Minute
	soon     = 600 * time.Millisecond
)

func loopback() GuardOptions {
	return GuardOptions{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// attempt makes one, which must end as wanted, hold little memory, and not wait for more than it has to.
func attempt(t *testing.T, roots *x509.CertPool, url string, want answer) {
	t.Helper()
	timeout := patience
	if want.fault == "timed out" {
		timeout = soon
	}
	s := newSender(NewGuard(loopback()), roots, timeout)
	if s.http.Timeout != timeout {
		t.Errorf("an attempt may take %v, want %v", s.http.Timeout, timeout)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	got := s.send(t.Context(), url, http.Header{}, []byte(`{"id":"x"}`))
	if took := time.Since(started); took > patience/2 {
		t.Errorf("took %v", took)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if got.status != want.status || got.fault != want.fault {
		t.Errorf("got %d %q, want %d %q", got.status, got.fault, want.status, want.fault)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		status      int
		after, date string
		want        time.Duration
	}{
		{503, "7", "", 7 * time.Second},
		{429, "0", "", 0},
		{503, "99999", "", time.Hour},
		{503, "-1", "", 0},
		{503, "soon", "", 0},
		{500, "7", "", 0},
		{503, "Mon, 30 Nov 2026 12:01:00 GMT", "Mon, 30 Nov 2026 12:00:00 GMT", time.Minute},
		{503, "Mon, 30 Nov 2026 11:00:00 GMT", "Mon, 30 Nov 2026 12:00:00 GMT", 0},
	} {
		r := &http.Response{StatusCode: c.status, Header: http.Header{"Retry-After": {c.after}, "Date": {c.date}}, Body: io.NopCloser(&bytes.Buffer{})}
		if got := retryAfter(r); got != c.want {
			t.Errorf("%d with Retry-After %q: %v, want %v", c.status, c.after, got, c.want)
		}
	}
}
