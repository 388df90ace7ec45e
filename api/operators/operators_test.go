package operators

import (
	"context"
	"errors"
	"strings"
	"testing"
)

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
