// Package mcp is the MCP door: every operation as a tool, over streamable HTTP without sessions.
package mcp

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aanet/api"
)

//go:embed instructions.md
var instructions string

// Options are what New needs besides the service.
type Options struct {
	Log            *slog.Logger
	Metrics        *api.Metrics                     // nil counts into metrics of its own that nobody sees
	AllowedHosts   []string                         // accepted in Host, with or without port; empty accepts any
	AllowedOrigins []string                         // of pages elsewhere that may call, as browsers send them
	Version        string                           // that the server tells of itself
	ClientAddr     func(r *http.Request) netip.Addr // whom to count as the client; nil takes the connection's peer
	ProgressEvery  time.Duration                    // between two signs of life of a call whose client asks for progress; 0: 10 s
}

// door answers HTTP requests at the MCP endpoint.
type door struct {
	svc       *api.Service
	options   Options
	lists     map[api.Who][]*sdk.Tool // what tools/list shows each kind of caller
	sdk       http.Handler            // answers in JSON
	streaming http.Handler            // answers in events, which have room for progress
}

// New makes the handler to be mounted at /mcp.
func New(svc *api.Service, o Options) http.Handler {
	if o.Metrics == nil {
		o.Metrics = api.NewMetrics(nil)
	}
	if o.ClientAddr == nil {
		o.ClientAddr = peerAddr
	}
	if o.ProgressEvery == 0 {
		o.ProgressEvery = progressEvery
	}
	d := &door{svc: svc, options: o, lists: toolLists()}
	server := d.newServer()
	d.sdk, d.streaming = d.handler(server, true), d.handler(server, false)
	return d
}

func (d *door) handler(server *sdk.Server, json bool) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: json, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // admit has its own rules for Host and Origin
		MaxRequestBodyBytes:        api.BodyBytesMax,
		Logger:                     warnings(d.options.Log),
	})
}

// listTTL is how long a client may keep the list of tools; it changes only with a new version or another key.
const listTTL = 5 * time.Minute

// serverOptions are what all requests share.
func (d *door) serverOptions() *sdk.ServerOptions {
	return &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       warnings(d.options.Log),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = cacheable },
	}
}

// serverOf makes the one server that all requests share: to build one takes milliseconds.
func (d *door) serverOf(options *sdk.ServerOptions) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "aanet", Title: "AANet", Version: d.options.Version}, options)
	for _, op := range api.Tools() {
		// The SDK looks into the schema at each call; what is listed comes from d.lists.
		server.AddTool(&sdk.Tool{Name: op.Tool(), InputSchema: anyObject}, d.tool(op))
	}
	server.AddReceivingMiddleware(d.receive)
	return server
}

var cacheable = sdk.Cacheable{TTLMs: int(listTTL.Milliseconds()), CacheScope: "private"}

// warnings is the log without the SDK's several lines a request.
func warnings(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(quiet{log.Handler()})
}
