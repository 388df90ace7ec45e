package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"aanet/api/apitest"
	"aanet/store"
	"aanet/store/storetest"
)

// Not even whoever has the database's password changes the log by the way.
func TestAuditCannotBeChanged(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil) // which a credit made
	conn, err := pgx.Connect(t.Context(), b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		"update operator_audit set actor = 'somebody else'", "delete from operator_audit", "truncate operator_audit", "truncate operator_audit cascade",
		"delete from operator_audit where false", "insert into operator_audit select * from operator_audit on conflict (audit_id) do update set reason = ''",
	} {
		if _, err := conn.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "only ever added to") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	rows, err := b.Audit(t.Context(), store.AuditFilter{Subject: a.id.String(), Limit: 10})
	if err != nil || len(rows) != 1 || rows[0].Actor != "cli:test" || rows[0].Action != "workspace.credit" {
		t.Errorf("the log has %+v (%v)", rows, err)
	}
}

// An action that is refused, or changes nothing, leaves no row; one that is done leaves exactly one.
func TestAuditFollowsTheEffect(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a, ctx := b.open(uuid.New(), nil), t.Context()
	count := func() int64 { return b.number("select count(*) from operator_audit") }
	before, adjustment := count(), uuid.New()
	for _, c := range []struct {
		what string
		rows int64
		do   func() error
		want error
	}{
		{"a credit", 1, func() error { return b.Credit(ctx, because, a.id, adjustment, 5, true) }, nil},
		{"the same credit", 0, func() error { return b.Credit(ctx, because, a.id, adjustment, 5, true) }, nil},
		{"another under its id", 0, func() error { return b.Credit(ctx, because, a.id, adjustment, 6, true) }, store.ErrCreditUsed},
		{"too much", 0, func() error { return b.Credit(ctx, because, a.id, uuid.New(), mostUnits, true) }, store.ErrCreditLimit},
		{"a block", 1, func() error { return b.Block(ctx, because, a.id, true) }, nil},
		{"of nobody", 0, func() error { return b.Block(ctx, because, uuid.New(), true) }, store.ErrNoWorkspace},
		{"a webhook of nobody", 0, func() error { return b.SetWebhook(ctx, because, a.id, uuid.New(), false, 5) }, store.ErrNoWebhook},
		{"a deposit of nobody", 0, func() error {
			return b.FailDeposit(ctx, because, store.Deposit{Workspace: a.id, ID: uuid.New()})
		}, store.ErrNoDeposit},
		{"a refund of nobody", 0, func() error { return b.RejectRefund(ctx, because, store.Refund{Workspace: a.id, ID: uuid.New()}) }, store.ErrNoRefund},
		{"feedback of nobody", 0, func() error {
			return b.TriageFeedback(ctx, because, store.Feedback{Workspace: a.id, ID: uuid.New()}, "done", "")
		}, store.ErrNoFeedback},
		{"an operator who is none", 0, func() error { return b.SetOperatorRole(ctx, because, uuid.New(), store.RoleAdmin) }, store.ErrNoOperator},
	} {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := count() - before; got != c.rows {
			t.Errorf("%s left %d rows, want %d", c.what, got, c.rows)
		}
		before = count()
	}
	sound(t, b)
}

func TestRoles(t *testing.T) {
	for _, c := range []struct {
		role, other store.Role
		includes    bool
	}{
		{store.RoleAdmin, store.RoleOperator, true}, {store.RoleAdmin, store.RoleViewer, true}, {store.RoleOperator, store.RoleOperator, true},
		{store.RoleOperator, store.RoleAdmin, false}, {store.RoleViewer, store.RoleOperator, false},
		{"", store.RoleViewer, false}, {"king", store.RoleViewer, false}, {store.RoleAdmin, "king", false}, {store.RoleAdmin, "", false},
	} {
		if got := c.role.Includes(c.other); got != c.includes {
			t.Errorf("%q includes %q: %t", c.role, c.other, got)
		}
	}
}

// Two admins who disable each other at once do not both succeed.
func TestTheLastAdminStays(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	ids := [2]uuid.UUID{uuid.New(), uuid.New()}
	for range 5 {
		storetest.Exec(t, b.dsn, "delete from operators")
		for i, id := range ids {
			o := store.Operator{ID: id, Email: []string{"a", "b"}[i] + "@aanet.example", Role: store.RoleAdmin, PasswordHash: "none"}
			if err := b.CreateOperator(t.Context(), because, o); err != nil {
				t.Fatal(err)
			}
		}
		var errs [2]error
		apitest.Together(2, func(i int) { errs[i] = b.SetOperatorRole(t.Context(), because, ids[i], store.RoleViewer) })
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[0], errs[1]), store.ErrLastAdmin) {
			t.Errorf("both at once: %v, %v", errs[0], errs[1])
		}
	}
}
