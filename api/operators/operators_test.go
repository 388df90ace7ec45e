package operators

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"aanet/api/buckets"
)

// However many addresses guess at one account, they are stopped; where its operator was before, they count for nothing.
func TestStrangersCannotLockAnAccount(t *testing.T) {
	l, now := newLimits(), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	who := accountOf("a@aanet.example")
	from := func(i int) netip.Prefix {
		return buckets.Network(netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)}))
	}
	passed := 0
	for i := range 1000 {
		if wait, _ := l.take(who, from(i), [32]byte{}, known{}, now); wait == 0 {
			passed++
		}
	}
	if passed != failuresPerAccount {
		t.Errorf("%d of 1000 addresses could guess once", passed)
	}
	if wait, _ := l.take(who, from(2000), [32]byte{}, known{}, now); wait == 0 {
		t.Error("one more address may guess")
	}
	if wait, _ := l.take(who, from(2001), [32]byte{}, known{place: true}, now); wait != 0 {
		t.Error("the operator's own network is refused")
	}
	if wait, _ := l.take(who, from(2002), [32]byte{1}, known{device: true}, now); wait != 0 {
		t.Error("the operator's own browser is refused")
	}
	if wait, _ := l.take(accountOf("b@aanet.example"), from(2003), [32]byte{}, known{}, now); wait != 0 {
		t.Error("another account is refused")
	}
	if wait, _ := l.take(who, from(2004), [32]byte{}, known{}, now.Add(quarter)); wait != 0 {
		t.Error("a quarter of an hour later it is refused still")
	}
}

// One address is stopped over all accounts, and in a browser that is known only its own failures count.
func TestAddressesAndBrowsersAreLimited(t *testing.T) {
	l, now := newLimits(), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	from := buckets.Network(netip.MustParseAddr("2001:db8::1"))
	passed := 0
	for i := range 100 {
		if wait, _ := l.take(accountOf(strings.Repeat("x", i)), from, [32]byte{}, known{}, now); wait == 0 {
			passed++
		}
	}
	if passed != failuresPerAddress {
		t.Errorf("%d of 100 accounts could be tried from one address", passed)
	}
	who, passed := accountOf("a@aanet.example"), 0
	for range 100 {
		if wait, _ := l.take(who, from, [32]byte{1}, known{device: true}, now); wait == 0 {
			passed++
		}
	}
	if passed != failuresPerDevice {
		t.Errorf("a known browser could guess %d times", passed)
	}
	// What succeeds counts nowhere.
	other := buckets.Network(netip.MustParseAddr("192.0.2.1"))
	for range 500 {
		wait, undo := l.take(who, other, [32]byte{}, known{}, now)
		if wait != 0 {
			t.Fatal("logins that succeed are limited")
		}
		undo()
	}
}

func TestPasswords(t *testing.T) {
	for password, good := range map[string]bool{
		strings.Repeat("x", 11): false, strings.Repeat("é", 12): true, strings.Repeat("é", 200): true, strings.Repeat("x", 201): false,
		"twelve bytes\xff": false, "": false,
	} {
		if (PasswordFault(password) == "") != good {
			t.Errorf("%d characters: %q", len([]rune(password)), PasswordFault(password))
		}
	}
	k := newKiln()
	hash, err := k.hash(t.Context(), "correct horse battery")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatal(hash, err)
	}
	for password, same := range map[string]bool{"correct horse battery": true, "correct horse batterY": false, "": false} {
		if got, err := k.matches(t.Context(), password, hash); got != same || err != nil {
			t.Errorf("%q: %t %v", password, got, err)
		}
	}
	if got, err := k.matches(t.Context(), "anything", ""); got || err != nil { // nobody's password
		t.Error(got, err)
	}
}

// Few hashes are made at a time; who comes when too many wait is refused at once, and who is gone does not wait.
func TestHashingIsBounded(t *testing.T) {
	k := newKiln()
	release, busy := make(chan struct{}), make(chan struct{})
	for range hashesAtATime {
		go func() {
			_ = k.do(context.Background(), func() error { busy <- struct{}{}; <-release; return nil })
		}()
		<-busy
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := k.do(gone, func() error { return errors.New("it was done") }); !errors.Is(err, context.Canceled) {
		t.Errorf("one who is gone: %v", err)
	}
	for range hashesWaiting {
		k.waiting <- struct{}{}
	}
	if err := k.do(t.Context(), func() error { return nil }); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	for range hashesWaiting {
		<-k.waiting
	}
	close(release)
	if err := k.do(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("when it is free: %v", err)
	}
}

// A form's token is bound to its session, and cannot be made from what the database holds.
func TestFormTokens(t *testing.T) {
	a, b := newToken(), newToken()
	hash := hashOf(a)
	if !IsFormToken(a, FormToken(a)) || IsFormToken(b, FormToken(a)) || IsFormToken(a, "") || FormToken(a) == FormToken(string(hash[:])) {
		t.Error("a form's token fits another session")
	}
}
