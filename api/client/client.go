package client

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// ErrNoWorkspace is returned, and nothing is sent, when an operation needs a workspace and neither the key nor
// InWorkspace names one.
var ErrNoWorkspace = errors.New("client: no workspace: the key names none; use InWorkspace")

// Unless options say otherwise.
const (
	retriesDefault      = 3
	longestPauseDefault = 30 * time.Second
)

// Client calls one service with one key.
type Client struct {
	base      string // without a trailing slash
	fault     error  // of the base: every call answers it
	key       string
	workspace string // as it is written in addresses; empty when there is none
	http      *http.Client
	observe   func(Meta, error)

	retries      int
	longestPause time.Duration
	plain        bool          // keys may go over plain HTTP to other machines
	ownKeys      bool          // changes get idempotency keys of the client's making
	silence      time.Duration // of an event stream that counts as dead
}

// Option changes how a client works.
type Option func(*Client)

// WithHTTPClient uses the transport and the timeout of this HTTP client. Redirects stay refused: a key goes nowhere but to
// the service it was given for.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetries sets how often a call is repeated at most; 0 never repeats, the default is 3. Repeated are: every call that
// was refused with RATE_LIMITED or that no connection was found for (in both cases nothing was done), and reads and changes
// under an idempotency key also after UNAVAILABLE or a broken connection. A change whose fate is unknown and that has no
// such key is never repeated: its caller has to look first. The pause is what Retry-After says, otherwise it grows from
// 50 ms; a call whose deadline would pass meanwhile is given up. A client that never repeats makes no idempotency keys.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// WithLongestPause sets the longest Retry-After that is waited for, 30 s by default. A call that is to wait longer gives
// the refusal at once.
func WithLongestPause(d time.Duration) Option { return func(c *Client) { c.longestPause = d } }

// WithoutIdempotencyKeys sends changes without a key unless WithIdempotencyKey gives one. They are then not repeated when
// their answer is lost.
func WithoutIdempotencyKeys() Option { return func(c *Client) { c.ownKeys = false } }

// WithPlainHTTP allows http:// to other machines than this one, where anybody on the way can read the key. It is for
// private networks.
func WithPlainHTTP() Option { return func(c *Client) { c.plain = true } }

// WithObserver calls f after every call with what the service said about it and how it ended, also for the calls that a
// lease or a follower makes. f may be called by several goroutines at once.
func WithObserver(f func(Meta, error)) Option { return func(c *Client) { c.observe = f } }

// New makes a client of the service at baseURL, such as "https://aanet.example" or "http://127.0.0.1:8402". The key may be
// empty for the operations that anyone may call. The workspace is the one that the key belongs to. A baseURL that cannot be
// used (no https although it is another machine, say) is the error of every call.
func New(baseURL, key string, options ...Option) *Client {
	c := &Client{
		base: strings.TrimRight(baseURL, "/"), retries: retriesDefault, longestPause: longestPauseDefault, ownKeys: true, silence: silenceMax,
	}
	for _, option := range options {
		option(c)
	}
	own := http.Client{Transport: sharedTransport}
	if c.http != nil {
		own = *c.http
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	c.fault = faultOfBase(c.base, c.plain)
	return c.WithKey(key)
}

// WithKey gives a client that uses another key, and its workspace, over the same connections.
func (c *Client) WithKey(key string) *Client {
	other := *c
	other.key, other.workspace = key, workspaceOf(key)
	return &other
}

// InWorkspace gives a client that names this workspace in its calls instead of the key's own.
func (c *Client) InWorkspace(id string) *Client {
	other := *c
	other.workspace = id
	return &other
}

// WorkspaceID is the workspace that calls name; empty when there is none.
func (c *Client) WorkspaceID() string { return c.workspace }

// String names the service and not the key.
func (c *Client) String() string { return "AANet client of " + c.base }

// GoString keeps the key out of %#v.
func (c *Client) GoString() string { return c.String() }

// sharedTransport keeps the connections of all clients of a program.
var sharedTransport = newTransport()

// newTransport keeps a connection for each of many agents in one program, and drops idle ones before the service does: a
// connection that closes just as it is used again costs a call. The longest answer is that of a deposit, which settles.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 64
	t.IdleConnTimeout = time.Minute
	t.ResponseHeaderTimeout = 3 * time.Minute
	return t
}
