package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// tab is a workspace whose calls a test puts into one batch, to see what each of them finds of the charges before it.
type tab struct {
	nb    *notebook
	id    uuid.UUID
	owner []byte
	steps []step
}

// step is a call of the batch with what it must answer, and what its key must have spent by then if seen is set.
type step struct {
	*asked
	code      string
	remaining int64 // 0: whatever it is
	seen      *int64
	wantSeen  int64
}

// agent is a sub-key.
type agent struct {
	id  uuid.UUID
	key []byte
}

// newTab opens a workspace with 10,000 units and a webhook that wants to know of writes.
func newTab(nb *notebook) *tab {
	tb := &tab{nb: nb, id: uuid.New(), owner: secret()}
	nb.exec(`insert into workspaces (workspace_id, label, created_at, balance, last_ts, refusal_at, webhooks) values ($1, 'tab', now(), 10000, now(), now(), 1)`, tb.id)
	nb.exec(`insert into adjustments (workspace_id, adjustment_id, kind, units, refundable, reason, created_at) values ($1, $2, 'credit', 10000, true, 'to start with', now())`, tb.id, uuid.New())
	nb.exec(`insert into keys (workspace_id, key_hash, last4, label, minted_seq, created_at) values ($1, $2, 'last', '', 0, now())`, tb.id, tb.owner)
	nb.exec(`insert into webhooks (workspace_id, webhook_id, url, events, payload_version, secret, enabled_at, created_seq, created_at)
		values ($1, $1, 'https://example.org', '{file_write}', 1, '', now(), 0, now())`, tb.id)
	return tb
}

func secret() []byte {
	a, b := uuid.New(), uuid.New()
	return append(a[:], b[:]...)
}

// then adds a call to the batch.
func (tb *tab) then(want, function string, key []byte, operation string, price, columns int, args ...any) *step {
	a := &asked{label: fmt.Sprintf("step %d, %s", len(tb.steps)+1, function)}
	a.pending = newPending(context.Background(), Call{
		Function: function, Workspace: tb.id, Args: append([]any{key, nil, 0, operation, price}, args...), Into: make([]any, columns)})
	tb.steps = append(tb.steps, step{asked: a, code: want})
	return &tb.steps[len(tb.steps)-1]
}

// mint makes a sub-key with a cap and a limit an hour, 0 for none.
func (tb *tab) mint(limit, perHour int) agent {
	a := agent{uuid.New(), secret()}
	or := func(n int) any {
		if n == 0 {
			return nil
		}
		return n
	}
	tb.then("", "mint_subkey", tb.owner, "MINT_SUBKEY", 0, 0, a.id, a.key, "last", "agent", nil, or(limit), or(perHour), nil, 100, nil)
	return a
}

// write costs 10 units.
func (tb *tab) write(key []byte, path, want string) *step {
	return tb.then(want, "write_file", key, "PUT_FILE", 10, 2, path, []string{}, "text", 4, nil, false, nil, nil, nil)
}

// spent reads what the key has spent so far.
func (tb *tab) spent(key []byte, want int64) {
	s := tb.then("", "identify", key, "GET_BALANCE", 0, 15, "")
	s.seen, s.wantSeen = new(int64), want
	s.Into[10] = s.seen
}

// deliver begins one attempt of the webhook, which costs 2 units.
func (tb *tab) deliver() {
	a := &asked{label: "begin_attempts"}
	a.pending = newPending(context.Background(), Call{Function: "begin_attempts", Workspace: tb.id, Into: make([]any, 16),
		Args: []any{tb.id, uuid.New(), "1 minute", 1, 2, []uuid.UUID{uuid.New()}, "1 day"}})
	tb.steps = append(tb.steps, step{asked: a})
}

// story is what owners and agents do to what keys may spend, in the middle of what they spend.
func (tb *tab) story() {
	capped, tight, limited, free := tb.mint(30, 0), tb.mint(20, 0), tb.mint(0, 25), tb.mint(0, 0)
	tb.write(capped.key, "a", "").remaining = 20
	tb.write(tight.key, "b", "").remaining = 10
	tb.write(free.key, "c", "").remaining = 9970
	tb.write(tb.owner, "a", "")
	tb.deliver()
	tb.write(capped.key, "c", "").remaining = 10
	tb.write(tight.key, "a", "")
	tb.write(tight.key, "a", "BUDGET_EXCEEDED")
	tb.spent(tight.key, 20)
	tb.write(limited.key, "d", "").remaining = 15
	tb.write(limited.key, "d", "").remaining = 5
	tb.write(limited.key, "d", "SPEND_LIMIT_EXCEEDED")
	tb.spent(limited.key, 20)
	update := func(a agent, limit any, clear ...string) {
		tb.then("", "update_subkey", tb.owner, "UPDATE_SUBKEY", 0, 8, a.id, nil, limit, nil, nil, clear, nil)
	}
	update(tight, 40)
	tb.write(tight.key, "b", "").remaining = 10
	update(capped, 15) // below what it has spent
	tb.write(capped.key, "a", "BUDGET_EXCEEDED")
	update(capped, nil, "budget_cap")
	tb.write(capped.key, "a", "")
	update(free, 10) // it has spent that much
	tb.write(free.key, "a", "BUDGET_EXCEEDED")
	tb.spent(free.key, 10)
	rotated := secret()
	tb.then("", "rotate_key", tb.owner, "ROTATE_KEY", 0, 1, tight.id, rotated, "last", "10 minutes", nil)
	tb.write(tight.key, "e", "") // the last of its cap
	tb.write(rotated, "e", "BUDGET_EXCEEDED")
	tb.spent(rotated, 40)
	tb.write(tight.key, "e", "UNAUTHENTICATED") // the new one was used
	tb.then("", "revoke_subkey", tb.owner, "REVOKE_SUBKEY", 0, 1, limited.id, nil)
	tb.write(limited.key, "e", "UNAUTHENTICATED")
	tb.spent(capped.key, 30)
	tb.spent(tb.owner, 10)
}

// told demands of every call of the batch what the story says.
func (tb *tab) told(t *testing.T) {
	t.Helper()
	for _, s := range tb.steps {
		result, err := s.answer(t)
		if err != nil || result.Code != s.code {
			t.Errorf("%s: answered %q, want %q, error %v", s.label, result.Code, s.code, err)
			continue
		}
		if s.remaining != 0 && (result.Remaining == nil || *result.Remaining != s.remaining) {
			t.Errorf("%s: remaining is %v, want %d", s.label, result.Remaining, s.remaining)
		}
		if s.seen != nil && *s.seen != s.wantSeen {
			t.Errorf("%s: the key has spent %d, want %d", s.label, *s.seen, s.wantSeen)
		}
	}
}

// adds demands that the ledger adds up and that so much was charged.
func (tb *tab) adds(t *testing.T, charged int64) {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: tb.nb.dsn, Lanes: 1, PoolSize: 1, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.VerifyLedger(t.Context(), func(d Difference) { t.Errorf("the ledger: %v", d) })
	var spent int64
	row := tb.nb.sql.QueryRow(t.Context(), "select spent from workspaces where workspace_id = $1", tb.id)
	if err = errors.Join(err, row.Scan(&spent), s.Close(context.Background())); err != nil || spent != charged {
		t.Errorf("charged %d units, want %d, error %v", spent, charged, err)
	}
}

// storyCharges is what the eleven writes and the one attempt of a delivery in the story cost.
const storyCharges = 11*10 + 2

func TestChargesAreExactInsideABatch(t *testing.T) {
	nb := openNotebook(t)
	tb := newTab(nb)
	l := nb.lane(nb.config)
	tb.story()
	serveSteps(l, tb.steps)
	tb.told(t)
	if undone := undoneBatches(t, l.metrics); undone != 0 {
		t.Errorf("it was not one transaction: %d batches were undone", undone)
	}
	tb.adds(t, storyCharges)
}

// The batch is undone and sent again in parts: each call finds what it would have found, and is charged once.
func TestAPoisonedCallAmongChargesChangesNone(t *testing.T) {
	nb := openNotebook(t)
	tb := newTab(nb)
	l := nb.lane(nb.config)
	tb.story()
	bad := ask(tb.id, "raise this")
	middle := len(tb.steps) / 2
	calls := append(append([]step{}, tb.steps[:middle]...), step{asked: bad})
	serveSteps(l, append(calls, tb.steps[middle:]...))
	tb.told(t)
	if _, err := bad.answer(t); err == nil {
		t.Error("the poisoned call was done")
	}
	tb.adds(t, storyCharges)
}

// A connection that ends in the middle of a batch takes every charge of it along, and the rows of keys too.
func TestAConnectionThatEndsAmongChargesTakesThemAlong(t *testing.T) {
	nb := openNotebook(t)
	nb.exec(`create function die(p_workspace uuid, out code text, out info jsonb, out cost bigint, out remaining bigint) language plpgsql as
		$$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); end $$`)
	tb := newTab(nb)
	l := nb.lane(nb.config)
	one := tb.mint(0, 0)
	serveSteps(l, tb.steps)
	tb.told(t)
	before := tb.steps
	tb.steps = nil
	tb.write(one.key, "a", "")
	end := &asked{label: "die"}
	end.pending = newPending(context.Background(), Call{Function: "die", Workspace: tb.id})
	tb.steps = append(tb.steps, step{asked: end})
	tb.write(one.key, "a", "")
	serveSteps(l, tb.steps)
	for _, s := range tb.steps {
		if _, err := s.answer(t); err == nil {
			t.Errorf("%s was done", s.label)
		}
	}
	tb.adds(t, 0)
	tb.steps = before[:0]
	tb.write(one.key, "a", "")
	serveSteps(l, tb.steps)
	tb.told(t)
	tb.adds(t, 10)
}

func serveSteps(l *lane, steps []step) {
	var calls []*asked
	for _, s := range steps {
		calls = append(calls, s.asked)
	}
	serve(l, calls)
}

// While an old snapshot keeps every version of a file and of a key, a look-up goes over those of the newest era alone.
func TestLookUpsUnderAnOldSnapshot(t *testing.T) {
	nb := openNotebook(t)
	tb := newTab(nb)
	l := nb.lane(nb.config)
	one, two := tb.mint(0, 0), tb.mint(0, 0)
	tb.write(one.key, "hot", "")
	serveSteps(l, tb.steps)
	old, err := pgx.ConnectConfig(t.Context(), nb.config)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(context.Background())
	tx, err := old.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	var kept int
	if err := tx.QueryRow(t.Context(), "select count(*) from files").Scan(&kept); err != nil || kept != 1 {
		t.Fatal(kept, err)
	}
	const eras, versions = 20, 4
	for range eras {
		tb.steps = nil
		for range versions {
			tb.write(one.key, "hot", "")
			tb.write(two.key, "warm", "")
		}
		serveSteps(l, tb.steps)
		tb.told(t)
		nb.exec("update workspaces set seq = seq + 1024 where workspace_id = $1", tb.id) // as if the workspace had gone on
	}
	nb.exec("set enable_bitmapscan = off")
	nb.exec("set enable_seqscan = off")
	const file = "select etag from files where workspace_id = $1 and path = $2 limit 1"
	const key = "select spent from keys where workspace_id = $1 and key_hash = $2 limit 1"
	for _, look := range []struct {
		sql, index string
		what       any
	}{{file, "files_pkey", "hot"}, {file, "files_pkey", "warm"}, {key, "keys_pkey", one.key}, {key, "keys_pkey", two.key}} {
		if index, pages := nb.lookUp(look.sql, tb.id, look.what); index != look.index || pages > versions+6 {
			t.Errorf("%s with %d old versions read %d pages by the index %s", look.sql, eras*versions, pages, index)
		}
	}
	if rows := nb.count("select count(*) from files where workspace_id = $1", tb.id); rows != 2 {
		t.Errorf("two files have %d rows", rows)
	}
	if rows := nb.count("select count(*) from keys where workspace_id = $1", tb.id); rows != 3 {
		t.Errorf("three keys have %d rows", rows)
	}
}

func (nb *notebook) count(sql string, args ...any) (n int) {
	nb.t.Helper()
	if err := nb.sql.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		nb.t.Fatal(err)
	}
	return n
}

// lookUp runs a query and tells by which index it went and how many pages it looked at.
func (nb *notebook) lookUp(sql string, args ...any) (index string, pages int) {
	nb.t.Helper()
	var plans []struct {
		Plan struct {
			Hit   int `json:"Shared Hit Blocks"`
			Read  int `json:"Shared Read Blocks"`
			Plans []struct {
				Index string `json:"Index Name"`
			}
		}
	}
	if err := nb.sql.QueryRow(context.Background(), "explain (analyze, buffers, format json) "+sql, args...).Scan(&plans); err != nil {
		nb.t.Fatal(err)
	}
	below := plans[0].Plan.Plans // of the limit
	if len(below) != 1 {
		nb.t.Fatalf("%s: %+v", sql, plans)
	}
	return below[0].Index, plans[0].Plan.Hit + plans[0].Plan.Read
}
