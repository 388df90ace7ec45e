package operators

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api/buckets"
	"aanet/store"
	"aanet/store/storetest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)

// replicas are two processes of the service on one database.
type replicas struct {
	t    *testing.T
	dsn  string
	both [2]*Service
}

func startReplicas(t *testing.T) *replicas {
	r := &replicas{t: t, dsn: storetest.Database(t)}
	for i := range r.both {
		s, err := store.Open(t.Context(), store.Options{URL: r.dsn, Lanes: 1, PoolSize: 4, Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		r.both[i] = New(s, func() time.Time { return noon })
	}
	return r
}

// wait is how long an attempt at a time has to wait, at the i-th replica; 0: it may guess, and counts as failed.
func (r *replicas) wait(i int, limits []store.LoginLimit, now time.Time) time.Duration {
	r.t.Helper()
	err := store.ErrUnavailable
	for errors.Is(err, store.ErrUnavailable) { // a machine that does ten other things may be too slow for a statement's limit
		_, err = r.both[i%2].take(r.t.Context(), limits, now)
	}
	var tooMany *TooManyError
	if errors.As(err, &tooMany) {
		return tooMany.RetryAfter
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return 0
}

// passed is how many of n attempts may guess, at both replicas by turns.
func (r *replicas) passed(n int, of func(i int) []store.LoginLimit) (passed int) {
	r.t.Helper()
	for i := range n {
		if r.wait(i, of(i), noon) == 0 {
			passed++
		}
	}
	return passed
}

func network(i int) netip.Prefix {
	return buckets.Network(netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)}))
}

// However many addresses guess at one account, at whatever replicas, they are stopped; where its operator was before, they
// count for nothing.
func TestStrangersCannotLockAnAccount(t *testing.T) {
	r, who := startReplicas(t), accountOf("a@aanet.example")
	from := func(i int, k known) []store.LoginLimit { return limitsOf(who, network(i), [32]byte{1}, k) }
	if n := r.passed(failuresPerAccount+20, func(i int) []store.LoginLimit { return from(i, known{}) }); n != failuresPerAccount {
		t.Errorf("%d addresses could guess once", n)
	}
	for _, c := range []struct {
		what    string
		limits  []store.LoginLimit
		at      time.Time
		refused bool
	}{
		{"one more address", from(2000, known{}), noon, true},
		{"the operator's own network", from(2001, known{place: true}), noon, false},
		{"the operator's own browser", from(2002, known{device: true}), noon, false},
		{"another account", limitsOf(accountOf("b@aanet.example"), network(2003), [32]byte{}, known{}), noon, false},
		{"one more address, just before one try is refilled", from(2004, known{}), noon.Add(18*time.Second - time.Millisecond), true},
		{"one more address, when one try is refilled", from(2004, known{}), noon.Add(18 * time.Second), false},
		{"a second one then", from(2005, known{}), noon.Add(18 * time.Second), true},
		{"a quarter of an hour later", from(2006, known{}), noon.Add(store.LoginRefill), false},
	} {
		if wait := r.wait(0, c.limits, c.at); (wait > 0) != c.refused {
			t.Errorf("%s has to wait %v", c.what, wait)
		}
	}
}

// One address is stopped over all accounts, one pair of both sooner, and in a browser that is known only its own failures
// count.
func TestAddressesAndBrowsersAreLimited(t *testing.T) {
	r, who := startReplicas(t), accountOf("a@aanet.example")
	from := buckets.Network(netip.MustParseAddr("2001:db8::1"))
	if n := r.passed(30, func(i int) []store.LoginLimit {
		return limitsOf(accountOf(strings.Repeat("x", i)), from, [32]byte{}, known{})
	}); n != failuresPerAddress {
		t.Errorf("%d accounts could be tried from one address", n)
	}
	if n := r.passed(15, func(int) []store.LoginLimit { return limitsOf(who, network(1), [32]byte{}, known{}) }); n != failuresPerPair {
		t.Errorf("one account could be tried %d times from one address", n)
	}
	if n := r.passed(20, func(int) []store.LoginLimit { return limitsOf(who, from, [32]byte{1}, known{device: true}) }); n != failuresPerDevice {
		t.Errorf("a known browser could guess %d times", n)
	}
	if wait := r.wait(0, limitsOf(who, network(1), [32]byte{}, known{}), noon); wait != store.LoginRefill/failuresPerPair {
		t.Errorf("one more has to wait %v", wait)
	}
}

// Those who try at once at two replicas get no more tries than there are, and block nobody for longer than that.
func TestTriesAtOnce(t *testing.T) {
	r, who := startReplicas(t), accountOf("a@aanet.example")
	var passed atomic.Int64
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			if r.wait(i, limitsOf(who, network(i%3), [32]byte{}, known{}), noon) == 0 {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 3*failuresPerPair {
		t.Errorf("%d passed from three addresses", passed.Load())
	}
}

// What succeeds counts nowhere, even when its visitor has gone.
func TestSuccessCountsNowhere(t *testing.T) {
	r := startReplicas(t)
	limits := limitsOf(accountOf("a@aanet.example"), network(1), [32]byte{}, known{})
	for i := range 2 * failuresPerPair {
		ctx, leave := context.WithCancel(t.Context())
		undo, err := r.both[i%2].take(ctx, limits, noon)
		leave()
		if err != nil {
			t.Fatal("logins that succeed are limited: ", err)
		}
		if err := undo(); err != nil {
			t.Fatal(err)
		}
	}
}

// A clock that was ahead refuses nobody for longer than a quarter of an hour, and what is full again is cleared away.
func TestLimitsForgive(t *testing.T) {
	r := startReplicas(t)
	limits := limitsOf(accountOf("a@aanet.example"), network(1), [32]byte{}, known{})
	for range failuresPerPair + 1 {
		r.wait(0, limits, noon.Add(24*time.Hour))
	}
	if wait := r.wait(1, limits, noon); wait != 0 {
		t.Errorf("after the clock was set back: %v", wait)
	}
	r.wait(0, limitsOf(accountOf("b@aanet.example"), network(2), [32]byte{}, known{device: true}), noon.Add(time.Hour))
	if rows := storetest.Text(t, r.dsn, "select count(*)::text from login_failures"); rows != "1" {
		t.Errorf("%s rows are kept", rows)
	}
}

// Strangers who have all the turns for checking passwords keep nobody out who was here before, nor who is logged in.
func TestStrangersTakeNoTurnOfOurs(t *testing.T) {
	s := startReplicas(t).both[0]
	const email, password = "a@aanet.example", "correct horse battery"
	act := store.Act{By: "cli:test"}
	o, err := s.Create(t.Context(), act, NewOperator{Email: email, Password: password, Role: store.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	login := func(device string, from string) (Ticket, error) {
		return s.Login(t.Context(), Attempt{Email: email, Password: password, Device: device, Address: netip.MustParseAddr(from)})
	}
	first, err := login("", "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	for range cap(s.strangers.waiting) {
		s.strangers.waiting <- struct{}{}
	}
	if _, err := login("", "192.0.2.2"); !errors.Is(err, ErrBusy) {
		t.Errorf("from anywhere: %v", err)
	}
	if _, err := login("", "192.0.2.1"); err != nil {
		t.Errorf("from the network of a former login: %v", err)
	}
	if _, err := login(first.Device, "192.0.2.3"); err != nil {
		t.Errorf("in the browser of a former login: %v", err)
	}
	if err := s.SetPassword(t.Context(), act, o.ID, "another long password"); err != nil {
		t.Errorf("a new password: %v", err)
	}
}
