package store

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// proxy stands between a lane and Postgres and can fail in the ways of a network.
type proxy struct {
	t        *testing.T
	config   *pgx.ConnConfig // how to connect through it
	network  string          // of the real server
	address  string
	listener net.Listener

	mu     sync.Mutex
	away   bool
	fault  *fault // for the connections that are open when it is set
	passed [2]int // bytes since the fault was set
	open   map[net.Conn]bool
	done   sync.WaitGroup
}

type direction int

const (
	toServer direction = iota
	toClient
)

// fault cuts the connection once so many bytes went one way; with swallow set the answers are kept
// back instead until the one to the commit is among them, and then the connection is cut.
type fault struct {
	where   direction
	after   int
	swallow bool
	kept    []byte
}

func openProxy(nb *notebook) *proxy {
	nb.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		nb.t.Fatal(err)
	}
	px := &proxy{t: nb.t, config: nb.config.Copy(), listener: listener, open: map[net.Conn]bool{}}
	px.network, px.address = pgconn.NetworkAddress(nb.config.Host, nb.config.Port)
	at := listener.Addr().(*net.TCPAddr)
	px.config.Host, px.config.Port = at.IP.String(), uint16(at.Port)
	px.config.TLSConfig, px.config.Fallbacks = nil, nil
	px.done.Go(px.accept)
	nb.t.Cleanup(func() {
		listener.Close()
		px.goAway()
		px.done.Wait()
	})
	return px
}

func (px *proxy) accept() {
	for {
		client, err := px.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(px.network, px.address)
		if err != nil {
			client.Close()
			continue
		}
		px.mu.Lock()
		if px.away {
			client.Close()
			server.Close()
		} else {
			px.open[client], px.open[server] = true, true
			px.done.Go(func() { px.copy(server, client, toServer) })
			px.done.Go(func() { px.copy(client, server, toClient) })
		}
		px.mu.Unlock()
	}
}

func (px *proxy) copy(to, from net.Conn, where direction) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		pass, cut := px.judge(buf[:n], where)
		if _, writeErr := to.Write(pass); err != nil || writeErr != nil || cut {
			return
		}
	}
}

// judge says what of the bytes goes on, and whether the connection ends then.
func (px *proxy) judge(data []byte, where direction) (pass []byte, cut bool) {
	px.mu.Lock()
	defer px.mu.Unlock()
	before := px.passed[where]
	px.passed[where] += len(data)
	f := px.fault
	switch {
	case f == nil || f.where != where:
		return data, false
	case f.swallow:
		f.kept = append(f.kept, data...)
		if bytes.Contains(f.kept, []byte("COMMIT\x00")) {
			px.fault = nil
			return nil, true
		}
		return nil, false
	case before+len(data) <= f.after:
		return data, false
	}
	px.fault = nil // for the connections to come
	return data[:max(f.after-before, 0)], true
}

// fail sets the fault that the next bytes meet, and counts from here.
func (px *proxy) fail(f *fault) {
	px.mu.Lock()
	defer px.mu.Unlock()
	px.fault, px.passed = f, [2]int{}
}

// count is how many bytes went each way since fail.
func (px *proxy) count() [2]int {
	px.mu.Lock()
	defer px.mu.Unlock()
	return px.passed
}

// goAway cuts all connections and refuses new ones until comeBack.
func (px *proxy) goAway() {
	px.mu.Lock()
	defer px.mu.Unlock()
	px.away = true
	for c := range px.open {
		c.Close()
	}
	clear(px.open)
}

func (px *proxy) comeBack() {
	px.mu.Lock()
	defer px.mu.Unlock()
	px.away = false
}

// known makes a lane connected, with the statement of note prepared: what follows is one batch and nothing else.
func (nb *notebook) known(l *lane) {
	nb.t.Helper()
	warm := ask([16]byte{}, "warm")
	l.serve(context.Background(), []*pending{warm.pending})
	warm.ok(nb.t)
}
