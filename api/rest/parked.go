package rest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"aanet/api"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// answerPatience is how long a client may take to receive the answer of a call that was parked.
const answerPatience = time.Minute

// parkedKey is where the context of a request says that its call was parked: its end is still to come.
const parkedKey = "parked"

// parked is a call that waits while no handler runs for it.
type parked struct {
	door    *door
	conn    net.Conn
	early   []byte // of the next request
	request *http.Request
	gone    context.CancelFunc // the client is
	op      *api.Op
	waiting *api.Waiting
	header  http.Header // of the answer, so far
	timer   *prometheus.Timer
}

// park takes the connection of a call that waits out of the server's hands. It is false when that cannot be: the
// handler then waits itself.
func (d *door) park(c echo.Context, op *api.Op, waiting *api.Waiting) bool {
	r := c.Request()
	if d.Parking == nil || r.ProtoMajor != 1 || r.ProtoMinor != 1 || !d.Parking.enter() {
		return false
	}
	conn, buffered, err := http.NewResponseController(c.Response()).Hijack()
	if err != nil {
		d.Parking.calls.Done()
		return false
	}
	p := &parked{door: d, conn: bare(conn), op: op, waiting: waiting, header: c.Response().Header()}
	if n := buffered.Reader.Buffered(); n > 0 {
		early, _ := buffered.Reader.Peek(n) // they are there
		p.early = bytes.Clone(early)
	}
	p.timer, _ = c.Get(timerKey).(*prometheus.Timer)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // the request's own ends with the handler
	p.request, p.gone = r.WithContext(ctx), cancel
	p.request.Body = http.NoBody // it was read, and holds the server's buffers
	c.Set(parkedKey, true)
	go p.wait()
	return true
}

// wait reads from the connection, on which nothing should come, to notice when the client leaves. A poke ends the reading.
func (p *parked) wait() {
	if len(p.early) > 0 { // more cannot be read before the answer: whether the client leaves shows when that is sent
		<-p.waiting.Poked()
		go p.look()
		return
	}
	var first [1]byte
	p.waiting.OnPoke(func() { _ = p.conn.SetReadDeadline(longAgo) })
	n, err := p.conn.Read(first[:])
	p.waiting.OnPoke(nil)
	_ = p.conn.SetReadDeadline(time.Time{}) // one that is broken fails when it is used
	switch timeout, ok := err.(net.Error); {
	case n > 0:
		p.early = append(p.early, first[0])
		go p.wait()
	case ok && timeout.Timeout():
		go p.look() // on a stack of its own: this one stays small for the next wait
	default:
		p.gone()
		go p.look()
	}
}

// look makes the call again, and answers it when it has waited enough or its client is gone.
func (p *parked) look() {
	w := &answerWriter{header: p.header, status: http.StatusOK}
	waits, whole := false, false
	defer func() {
		_ = recover() // http.ErrAbortHandler: what is behind it was logged, and only a cut connection can tell the client
		if !waits {
			p.end(w, whole)
		}
	}()
	c := p.door.echo.NewContext(p.request, w)
	c.Set(operationKey, p.op)
	p.door.run(c, func(c echo.Context) error {
		var answer api.Answer
		if done := gone(p.request); done {
			answer = p.waiting.Leave(p.request.Context())
		} else if answer, done = p.waiting.Look(p.request.Context()); !done {
			waits = true
			return nil
		}
		return p.door.answered(c, p.op, answer)
	})
	if waits {
		go p.wait()
		return
	}
	whole = true
	p.door.record(c, p.timer.ObserveDuration().Seconds())
}

// end sends the answer, unless a panic has left it in pieces, and lets the connection live on.
func (p *parked) end(w *answerWriter, whole bool) {
	defer p.door.Parking.calls.Done()
	if !whole || gone(p.request) {
		_ = p.conn.Close() // nobody listens
		return
	}
	last := p.request.Close || p.door.Parking.ending()
	late := time.AfterFunc(answerPatience, func() { _ = p.conn.SetWriteDeadline(longAgo) })
	_, err := p.conn.Write(w.message(p.door.Parking.now(), last))
	if !late.Stop() || err != nil || last {
		_ = p.conn.Close() // the answer is sent, or cannot be
		return
	}
	go p.door.Parking.resume(p.conn, p.early)
}

// answerWriter keeps an answer until it is whole.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header gives the header of the answer.
func (w *answerWriter) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *answerWriter) WriteHeader(status int) { w.status = status }

// Write keeps a part of the body.
func (w *answerWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

// message is the whole answer in HTTP/1.1; last says that the connection ends with it.
func (w *answerWriter) message(now time.Time, last bool) []byte {
	if w.header.Get("Content-Length") == "" {
		w.header.Set("Content-Length", strconv.Itoa(w.body.Len()))
	}
	w.header.Set("Date", now.UTC().Format(http.TimeFormat))
	if last {
		w.header.Set("Connection", "close")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	_ = w.header.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	b.Write(w.body.Bytes())
	return b.Bytes()
}
