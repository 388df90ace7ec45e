package rest

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// idleTime is how long a connection may stay without a request once its waiting call was answered.
const idleTime = 2 * time.Minute

// longAgo, as a deadline, ends reading or writing that is under way.
var longAgo = time.Unix(1, 0)

// Parking holds the connections of calls that wait. A connection costs net/http two goroutines and its buffers; taken out
// of its hands it costs one goroutine that reads nothing. When the answer was sent and the next request begins, the connection
// goes back through the listener. Listen must be called before the door serves.
type Parking struct {
	now   func() time.Time
	calls sync.WaitGroup // that are parked

	mu     sync.Mutex
	closed bool
	idle   map[net.Conn]bool // answered; nothing has come since
	back   *parkingListener
}

// NewParking makes a place for connections. now is the clock for the Date of answers.
func NewParking(now func() time.Time) *Parking {
	return &Parking{now: now, idle: map[net.Conn]bool{}}
}

// Listen gives a listener for the server: new connections of l, and those that come back.
func (p *Parking) Listen(l net.Listener) net.Listener {
	p.back = &parkingListener{Listener: l, conns: make(chan accepted), done: make(chan struct{})}
	go p.back.run()
	return p.back
}

// Drain ends the parking: connections without a call are closed, and calls are waited for until ctx ends. The service must have
// been told to drain before, so that the calls end.
func (p *Parking) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	for conn := range p.idle {
		_ = conn.SetReadDeadline(longAgo)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		p.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter lets a call be parked, unless no more may.
func (p *Parking) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.calls.Add(1)
	}
	return !p.closed
}

func (p *Parking) ending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// resume waits for the next request on a connection and gives it back then. early is what has come of it already.
func (p *Parking) resume(conn net.Conn, early []byte) {
	if len(early) == 0 {
		early = p.nextByte(conn)
	}
	if len(early) == 0 {
		_ = conn.Close() // nobody is there to be told
		return
	}
	_ = conn.SetReadDeadline(time.Time{}) // one that is broken fails when it is read
	p.back.hand(accepted{conn: &resumedConn{Conn: conn, early: early}})
}

// nextByte reads the first byte of a request; there is none when the client leaves, idleTime is over or the service ends.
func (p *Parking) nextByte(conn net.Conn) []byte {
	p.mu.Lock()
	closed := p.closed
	p.idle[conn] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.idle, conn)
		p.mu.Unlock()
	}()
	if closed {
		return nil
	}
	late := time.AfterFunc(idleTime, func() { _ = conn.SetReadDeadline(longAgo) })
	first := make([]byte, 1)
	n, _ := conn.Read(first)
	if !late.Stop() {
		return nil // its deadline may still be about to be set
	}
	return first[:n]
}

// resumedConn is a connection of which something was read already.
type resumedConn struct {
	net.Conn
	early []byte
}

// Read gives what was read already, and then the rest.
func (c *resumedConn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite ends one direction, as net/http does before it closes a connection that may still receive.
func (c *resumedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// bare is the connection below, when nothing is left to be read above it.
func bare(conn net.Conn) net.Conn {
	if r, ok := conn.(*resumedConn); ok && len(r.early) == 0 {
		return r.Conn
	}
	return conn
}

// parkingListener gives new connections and those that come back.
type parkingListener struct {
	net.Listener
	conns chan accepted
	once  sync.Once
	done  chan struct{} // closed with the listener
}

// accepted is what Accept gives.
type accepted struct {
	conn net.Conn
	err  error
}

// run takes new connections until the listener is closed.
func (l *parkingListener) run() {
	for {
		conn, err := l.Listener.Accept()
		l.hand(accepted{conn, err})
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// hand gives something to Accept; a connection that nobody accepts any longer is closed.
func (l *parkingListener) hand(a accepted) {
	select {
	case l.conns <- a:
	case <-l.done:
		if a.conn != nil {
			_ = a.conn.Close() // the client sees the end of the service
		}
	}
}

// Accept waits for the next connection.
func (l *parkingListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.conns:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends accepting.
func (l *parkingListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}
