package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/negotiate"
)

// bodyTimeout is how long a client may take to send its body.
const bodyTimeout = time.Minute

// inbound is one HTTP request with one message in it.
type inbound struct {
	envelope

	id       string // X-Request-Id
	bearer   string // the key in the header; "" when there is none or it is not written as it must be
	streams  bool   // the answer is a stream of events
	address  netip.Addr
	size     int               // of the body in bytes
	gone     context.Context   // ends when the client is gone
	timer    *prometheus.Timer // since it arrived
	meta     map[string]any    // of a tool call
	answered atomic.Bool       // by a tool, which has counted it
}

type inboundKey struct{}

func inboundOf(ctx context.Context) *inbound { return ctx.Value(inboundKey{}).(*inbound) }

// ServeHTTP checks what concerns HTTP, takes the message apart and gives the rest to the SDK.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := &inbound{id: w.Header().Get("X-Request-Id"), gone: r.Context(), timer: prometheus.NewTimer(nil)}
	if in.id == "" {
		in.id = uuid.Must(uuid.NewV7()).String()
		w.Header().Set("X-Request-Id", in.id)
	}
	answer := newAnswerWriter(w, r, in)
	d.serve(answer, r, in)
	answer.close()
	if !in.answered.Load() {
		d.options.Metrics.Observe("mcp", "protocol", answer.status, "", in.timer.ObserveDuration().Seconds())
	}
}

func (d *door) serve(w *answerWriter, r *http.Request, in *inbound) {
	if !d.admit(w, r) {
		return
	}
	body, refusal := d.readBody(w, r)
	if refusal != nil {
		w.problem(refusal)
		return
	}
	e, fault := readEnvelope(body)
	if e != nil {
		in.envelope = *e
	}
	if fault != nil {
		w.rpcError(http.StatusBadRequest, fault)
		return
	}
	if in.method == "subscriptions/listen" && !listens {
		// Nothing is announced here, so a stream would only be kept open for nothing.
		w.rpcError(http.StatusNotFound, &rpcFault{codeMethodNotFound, "Method not found: nothing can be subscribed to here."})
		return
	}
	in.size, in.bearer, in.address = len(body), api.BearerKey(r.Header), d.options.ClientAddr(r)
	in.streams = in.streamed() && negotiate.Weight(r.Header.Get("Accept"), "text/event-stream") > 0
	r = r.WithContext(context.WithValue(r.Context(), inboundKey{}, in))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(in.message)), int64(len(in.message))
	// The SDK wants both of every client. Who knows only JSON gets JSON, as all do who do not ask for progress.
	r.Header = r.Header.Clone()
	r.Header.Set("Accept", "application/json, text/event-stream")
	if in.streams {
		w.Header().Set("X-Accel-Buffering", "no") // proxies hold pieces back otherwise
		d.streaming.ServeHTTP(w, r)
		return
	}
	d.sdk.ServeHTTP(w, r)
}

// readBody takes the whole body before anything else is begun.
func (d *door) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *api.Refusal) {
	if !api.DeclaredJSON(r.Header) {
		return nil, api.Refuse(api.UnsupportedMedia)
	}
	if api.HeaderBytes(r) > api.HeaderBytesMax {
		return nil, api.Refuse(api.HeadersTooLarge)
	}
	if r.ContentLength > api.BodyBytesMax {
		return nil, api.Refuse(api.TooLarge)
	}
	control := http.NewResponseController(w)
	// A deadline long past ends a read under way. Where none can be set, the server's own limits hold.
	late := time.AfterFunc(bodyTimeout, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.BodyBytesMax))
	if !late.Stop() {
		w.Header().Set("Connection", "close")
	}
	var large *http.MaxBytesError
	var refusal *api.Refusal
	switch {
	case errors.As(err, &refusal): // from whatever serves this door
		return nil, refusal
	case errors.As(err, &large):
		return nil, api.Refuse(api.TooLarge)
	case err != nil:
		return nil, api.Refuse(api.Malformed)
	}
	return body, nil
}

// peerAddr is the other end of the connection.
func peerAddr(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr()
}
