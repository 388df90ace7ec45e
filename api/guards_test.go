package api

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time         { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func guardsFor(l Limits) (*guards, *clock) {
	c := &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return newGuards(l, c.read), c
}

func operation(t *testing.T, name string) *Op {
	t.Helper()
	o := OperationNamed(name)
	if o == nil {
		t.Fatalf("no operation %s", name)
	}
	return o
}

func testKey(t *testing.T) Key {
	t.Helper()
	secret, err := NewKey(rand.Reader, false, uuid.New())
	if err != nil {
		t.Fatal(err)
	}
	key, ok := ParseKey(secret)
	if !ok {
		t.Fatal("a new key does not parse")
	}
	return key
}

// passed counts how many of n tries are let through.
func passed(n int, try func() *Refusal) int {
	count := 0
	for range n {
		if try() == nil {
			count++
		}
	}
	return count
}

func TestStrangersPerAddress(t *testing.T) {
	g, clock := guardsFor(DefaultLimits())
	trial, create, pricing := operation(t, "create_trial_workspace"), operation(t, "create_workspace"), operation(t, "get_pricing")
	from := func(o *Op, address string) func() *Refusal {
		return func() *Refusal { return g.stranger(o, netip.MustParseAddr(address)) }
	}
	for _, step := range []struct {
		wait  time.Duration
		op    *Op
		from  string
		tries int
		want  int
	}{
		{0, trial, "192.0.2.1", 500, 10},
		{0, create, "192.0.2.1", 500, 60}, // each kind has its own budget
		{0, pricing, "192.0.2.1", 500, 500},
		{0, trial, "::ffff:192.0.2.1", 1, 0}, // the same client
		{0, trial, "192.0.2.2", 500, 10},
		{0, trial, "2001:db8:1:2::1", 6, 6},
		{0, trial, "2001:db8:1:2:ffff::9", 6, 4}, // one customer is given a /64
		{0, trial, "2001:db8:1:3::1", 6, 6},
		{0, trial, "fe80::1%eth0", 11, 10},
		{0, trial, "fe80::2%eth1", 1, 0},
		{6*time.Minute - time.Second, trial, "192.0.2.1", 1, 0},
		{time.Second, trial, "192.0.2.1", 5, 1},
		{time.Hour, trial, "192.0.2.1", 500, 10},
	} {
		clock.advance(step.wait)
		if got := passed(step.tries, from(step.op, step.from)); got != step.want {
			t.Errorf("%s from %s: %d of %d passed, want %d", step.op.Name, step.from, got, step.tries, step.want)
		}
	}
	refusal := g.stranger(trial, netip.MustParseAddr("192.0.2.1"))
	if refusal == nil || refusal.Code != RateLimited || refusal.RetryAfter() != 360 {
		t.Errorf("the refusal is %v, retry after %d", refusal, refusal.RetryAfter())
	}
}

func TestRefusedTriesCostNothing(t *testing.T) {
	g, clock := guardsFor(DefaultLimits())
	trial, from := operation(t, "create_trial_workspace"), netip.MustParseAddr("192.0.2.1")
	try := func() *Refusal { return g.stranger(trial, from) }
	passed(10_000, try)
	clock.advance(6 * time.Minute)
	if got := passed(5, try); got != 1 {
		t.Errorf("after six minutes %d trials passed, want 1", got)
	}
}

func TestKeyRates(t *testing.T) {
	g, clock := guardsFor(Limits{KeyRate: 2, KeyBurst: 5, KeyBytesRate: 100, KeyBytesBurst: 1000})
	a, b := testKey(t), testKey(t)
	call := func(k Key, bytes int) func() *Refusal { return func() *Refusal { return g.key(k, bytes) } }
	for _, step := range []struct {
		wait  time.Duration
		key   Key
		bytes int
		tries int
		want  int
	}{
		{0, a, 0, 20, 5},
		{0, b, 0, 20, 5}, // keys do not share
		{time.Second, a, 0, 20, 2},
		{time.Minute, a, 600, 3, 1},
		{2 * time.Second, a, 600, 1, 1},
		{time.Second, a, 600, 1, 0},
		{time.Minute, a, 1 << 30, 1, 1}, // more than a full bucket takes the full bucket, it is not refused for ever
		{0, a, 1, 1, 0},
		{10 * time.Second, a, 1 << 30, 1, 1},
	} {
		clock.advance(step.wait)
		if got := passed(step.tries, call(step.key, step.bytes)); got != step.want {
			t.Errorf("%d bytes: %d of %d passed, want %d", step.bytes, got, step.tries, step.want)
		}
	}
}

func TestFailedKeys(t *testing.T) {
	limits := DefaultLimits()
	limits.FailedKeysPerMinute = 3
	g, clock := guardsFor(limits)
	office, home := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1")
	codes := func(n int, from netip.Addr) map[Code]int {
		seen := map[Code]int{}
		for range n {
			seen[g.failedKey(from).Code]++
		}
		return seen
	}
	if got := codes(10, office); fmt.Sprint(got) != fmt.Sprint(map[Code]int{Unauthenticated: 3, RateLimited: 7}) {
		t.Errorf("ten wrong keys: %v", got)
	}
	if refusal := g.key(testKey(t), 10); refusal != nil {
		t.Errorf("a good key from there: %v", refusal)
	}
	if got := g.failedKey(home).Code; got != Unauthenticated {
		t.Errorf("a wrong key from elsewhere: %s", got)
	}
	clock.advance(20 * time.Second)
	if got := codes(3, office); fmt.Sprint(got) != fmt.Sprint(map[Code]int{Unauthenticated: 1, RateLimited: 2}) {
		t.Errorf("20 seconds later: %v", got)
	}
	if got := g.failedKey(netip.Addr{}).Code; got != Unauthenticated {
		t.Errorf("from an unknown address: %s", got)
	}
}

func TestNoLimits(t *testing.T) {
	g, _ := guardsFor(Limits{})
	key, from := testKey(t), netip.MustParseAddr("192.0.2.1")
	trial := operation(t, "create_trial_workspace")
	for range 2000 {
		if g.stranger(trial, from) != nil || g.key(key, 1<<20) != nil || g.failedKey(from).Code != Unauthenticated {
			t.Fatal("something is limited")
		}
	}
}
