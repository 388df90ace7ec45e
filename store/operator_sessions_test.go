package store_test

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
)

// A login, or a change of one's own password, whose check of the former password ends after somebody has set another one or
// disabled the account, leaves nothing: whoever knows the former password stays out.
func TestALatePasswordOpensNothing(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	now := time.Now()
	o := store.Operator{ID: uuid.Must(uuid.NewV7()), Email: "a@aanet.example", Role: store.RoleViewer, PasswordHash: "first"}
	if err := b.CreateOperator(t.Context(), because, o); err != nil {
		t.Fatal(err)
	}
	login := func(o store.Operator) error {
		token := sha256.Sum256([]byte(uuid.NewString()))
		return b.OpenSession(t.Context(), because, store.Login{
			Session: store.Session{TokenHash: token[:], ExpiresAt: now.Add(time.Hour), Operator: o}, DeviceHash: token[:], Network: "192.0.2.1/32",
		}, now, time.Hour)
	}
	late := func(what string, o store.Operator) {
		t.Helper()
		if err := login(o); !errors.Is(err, store.ErrPasswordChanged) {
			t.Errorf("%s: a login: %v", what, err)
		}
		if err := b.ChangeOwnPassword(t.Context(), because, o.ID, o.PasswordHash, "his", []byte{}); !errors.Is(err, store.ErrPasswordChanged) {
			t.Errorf("%s: a change of the password: %v", what, err)
		}
		if n := b.number("select (select count(*) from operator_sessions) + (select count(*) from operators where password_hash = 'his')"); n != 0 {
			t.Errorf("%s: %d sessions and passwords are left", what, n)
		}
	}
	if err := login(o); err != nil {
		t.Fatal(err)
	}
	if err := b.SetOperatorPassword(t.Context(), because, o.ID, "second"); err != nil {
		t.Fatal(err)
	}
	late("after another password", o)
	o.PasswordHash = "second"
	if err := login(o); err != nil {
		t.Fatal(err)
	}
	if err := b.DisableOperator(t.Context(), because, o.ID, now); err != nil {
		t.Fatal(err)
	}
	late("after it was disabled", o)
	acts := b.number("select count(*) from operator_audit where subject_id = $1", o.ID.String())
	if acts != 5 { // created, logged in, password set, logged in, disabled
		t.Errorf("%d acts are in the audit log", acts)
	}
}
