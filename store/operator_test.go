package store_test

import (
	"errors"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
)

const mostUnits = 1<<53 - 1

// because is who acts in these tests, and why.
var because = store.Act{By: "cli:test", Reason: "because"}

func TestCredit(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	paid, trial, gone := b.open(uuid.New(), nil), b.open(uuid.New(), new(time.Hour)), b.open(uuid.New(), nil)
	gone.delete()
	first := uuid.New()
	for _, c := range []struct {
		what             string
		to               account
		adjustment       uuid.UUID
		units            int64
		refundable       bool
		want             error
		balance, granted int64
	}{
		{"a refundable credit", paid, first, 500, true, nil, 1500, 0},
		{"the same once more", paid, first, 500, true, nil, 1500, 0},
		{"the same id for other units", paid, first, 501, true, store.ErrCreditUsed, 1500, 0},
		{"a grant", paid, uuid.New(), 7, false, nil, 1507, 7},
		{"nothing", paid, uuid.New(), 0, true, store.ErrCreditLimit, 1507, 7},
		{"less than nothing", paid, uuid.New(), -1, true, store.ErrCreditLimit, 1507, 7},
		{"more than a client can read", paid, uuid.New(), mostUnits + 1, true, store.ErrCreditLimit, 1507, 7},
		{"the largest 64-bit number", paid, uuid.New(), 1<<63 - 1, true, store.ErrCreditLimit, 1507, 7},
		{"one too many for the balance", paid, uuid.New(), mostUnits - 1506, true, store.ErrCreditLimit, 1507, 7},
		{"up to the largest balance", paid, uuid.New(), mostUnits - 1507, true, nil, mostUnits, 7},
		{"a trial, never refundable", trial, uuid.New(), 50, true, nil, 150, 150},
		{"a deleted workspace", gone, uuid.New(), 5, true, store.ErrNoWorkspace, 0, 0},
	} {
		err := b.Credit(t.Context(), because, c.to.id, c.adjustment, c.units, c.refundable)
		granted := b.number("select granted from workspaces where workspace_id = $1", c.to.id)
		if !errors.Is(err, c.want) || c.to.balance() != c.balance || granted != c.granted {
			t.Errorf("%s: %v, balance %d, granted %d", c.what, err, c.to.balance(), granted)
		}
	}
	if err := b.Credit(t.Context(), because, uuid.New(), uuid.New(), 5, true); !errors.Is(err, store.ErrNoWorkspace) {
		t.Errorf("an unknown workspace: %v", err)
	}
	if logged := b.number("select count(*) from activity where workspace_id = $1 and operation = 'ADJUSTMENT'", paid.id); logged != 4 {
		t.Errorf("%d rows for 4 credits", logged)
	}
	sound(t, b)
}

func TestBlock(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a, gone := b.open(uuid.New(), nil), b.open(uuid.New(), nil)
	gone.delete()
	const refusedWhileBlocked = 2
	write := func() string {
		result, err := b.Do(t.Context(), store.Call{Function: "write_file", Workspace: a.id, Into: make([]any, 2),
			Args: []any{a.key, nil, refusedWhileBlocked, "PUT_FILE", 10, "a", []string{}, "text", 4, nil, false, nil, nil, nil}})
		if err != nil {
			t.Fatal(err)
		}
		return result.Code
	}
	for _, blocked := range []bool{true, true, false, false, true} {
		if err := b.Block(t.Context(), because, a.id, blocked); err != nil {
			t.Fatal(err)
		}
		code, reasons := write(), b.number("select count(blocked_reason) from workspaces where workspace_id = $1", a.id)
		if (code == "WORKSPACE_BLOCKED") != blocked || (reasons == 1) != blocked {
			t.Errorf("blocked %v: a write answers %q, %d reasons", blocked, code, reasons)
		}
	}
	for _, id := range []uuid.UUID{gone.id, uuid.New()} {
		if err := b.Block(t.Context(), because, id, true); !errors.Is(err, store.ErrNoWorkspace) {
			t.Errorf("%s: %v", id, err)
		}
	}
	sound(t, b)
}
