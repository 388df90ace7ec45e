package main

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"aanet/store/storetest"
)

// cable stands between the service and its database and can be pulled.
type cable struct {
	dsn              string // of the database, through it
	network, address string
	listener         net.Listener

	mu     sync.Mutex
	pulled bool
	open   map[net.Conn]bool
	ends   sync.WaitGroup
}

func layCable(t *testing.T, dsn string) *cable {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener, open: map[net.Conn]bool{}}
	c.network, c.address = pgconn.NetworkAddress(config.Host, config.Port)
	user := url.User(config.User)
	if config.Password != "" {
		user = url.UserPassword(config.User, config.Password)
	}
	c.dsn = (&url.URL{Scheme: "postgres", User: user, Host: listener.Addr().String(), Path: "/" + config.Database, RawQuery: "sslmode=disable"}).String()
	c.ends.Go(c.accept)
	t.Cleanup(func() {
		listener.Close()
		c.pull()
		c.ends.Wait()
	})
	return c
}

func (c *cable) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(c.network, c.address)
		if err != nil {
			client.Close()
			continue
		}
		c.mu.Lock()
		c.open[client], c.open[server] = true, true
		if c.pulled {
			client.Close()
			server.Close()
		}
		c.mu.Unlock()
		for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			c.ends.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

// pull cuts all connections, and those to come, until mend.
func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = true
	for conn := range c.open {
		conn.Close()
	}
	clear(c.open)
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = false
}

// TestDatabaseAway: while the database is away every call is told to come back, on both doors; when it is back
// the service is, without a restart, and nothing was done by halves.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	c := layCable(t, dsn)
	p := serving(t, c.dsn)
	l := newLoad(t, p, dsn, 8)
	l.settled(50)
	for range 2 {
		c.pull()
		eventually(t, "not being ready", func() bool { return ask(t, p.url, "GET", "/readyz", "", "").status == 503 })
		_, before, _ := l.count()
		eventually(t, "calls to be put off", func() bool { _, now, _ := l.count(); return now >= before+20 })
		for _, path := range []string{"", "/subkeys", "/activity", "/activity/summary", "/locks", "/messages", "/forecast"} {
			r := ask(t, p.url, "GET", "/v1/workspaces/"+l.ws+path, l.key, "")
			if r.status != 503 || r.string("code") != "UNAVAILABLE" || r.header.Get("Retry-After") == "" || r.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("GET %s while the database is away: %d %v %s", path, r.status, r.header, r.text)
			}
		}
		if r := ask(t, p.url, "POST", "/v1/workspaces", "", `{"label":"x"}`); r.status != 503 {
			t.Errorf("a new workspace while the database is away: %d %s", r.status, r.text)
		}
		if r := ask(t, p.url, "GET", "/healthz", "", ""); r.status != 200 {
			t.Errorf("/healthz while the database is away: %d", r.status)
		}
		c.mend()
		eventually(t, "being ready again", func() bool { return ask(t, p.url, "GET", "/readyz", "", "").status == 200 })
		l.settled(20)
	}
	if _, _, lost := l.count(); lost != 0 {
		t.Errorf("%d calls got no answer", lost)
	}
	l.check(dsn)
	if strings.Contains(p.log.String(), `"panic"`) {
		t.Errorf("a panic was logged:\n%s", p.log.String())
	}
}

// TestConnectionsTerminated cuts the service's sessions in the middle of their work.
func TestConnectionsTerminated(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn)
	l := newLoad(t, p, dsn, 8)
	for range 10 {
		l.settled(10)
		storetest.Exec(t, dsn, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
		time.Sleep(20 * time.Millisecond)
	}
	l.settled(20)
	if _, _, lost := l.count(); lost != 0 {
		t.Errorf("%d calls got no answer", lost)
	}
	l.check(dsn)
}
