// Package client is the Go client of AANet over REST: one method for each operation of the service, typed in and out.
//
//	workspace, err := client.New("http://127.0.0.1:8402", "").CreateWorkspace(ctx, client.CreateWorkspaceIn{Label: "swarm"})
//	owner := client.New("http://127.0.0.1:8402", workspace.OwnerKey)
//	minted, err := owner.MintSubkey(ctx, client.MintSubkeyIn{Label: "agent 1", BudgetCap: new(int64(5_000))})
//	agent := owner.WithKey(minted.Key)
//	lock, err := agent.AcquireLock(ctx, client.AcquireLockIn{Name: "build", LeaseSeconds: 60})
//	if client.IsCode(err, client.CodeLockHeld) {
//		// another agent has it
//	}
//
// A refusal of the service is an *Error. Calls are repeated only where that cannot do anything twice; see WithRetries.
// A Client may be used by many goroutines at once.
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

// retriesDefault is how often a call is repeated at most unless WithRetries says otherwise.
const retriesDefault = 3

// Client calls one service with one key.
type Client struct {
	base      string // without a trailing slash
	key       string
	workspace string // as it is written in addresses; empty when there is none
	http      *http.Client
	retries   int
}

// Option changes how a client works.
type Option func(*Client)

// WithHTTPClient uses this HTTP client. Redirects are the caller's to refuse: one that is followed loses its body.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetries sets how often a call is repeated at most; 0 never repeats, the default is 3. Repeated are: every call that
// was refused with RATE_LIMITED or that no connection was found for (in both cases nothing was done), and reads also after
// UNAVAILABLE or a broken connection. A change whose fate is unknown is never repeated: its caller has to look first. The
// pause is what Retry-After says, otherwise it grows from 50 ms; a call whose deadline would pass meanwhile is given up.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// New makes a client of the service at baseURL, such as "http://127.0.0.1:8402". The key may be empty for the operations
// that anyone may call. The workspace is the one that the key belongs to.
func New(baseURL, key string, options ...Option) *Client {
	c := &Client{base: strings.TrimRight(baseURL, "/"), retries: retriesDefault}
	for _, option := range options {
		option(c)
	}
	if c.http == nil {
		c.http = &http.Client{
			Transport:     newTransport(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
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

// newTransport keeps a connection for each of many agents in one program, and drops idle ones before the service does: a
// connection that closes just as it is used again costs a call.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 64
	t.IdleConnTimeout = time.Minute
	return t
}
