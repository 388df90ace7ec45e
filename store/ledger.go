package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Difference is one thing about a workspace's books that does not hold. The two numbers are the
// sides of What, in units unless What says otherwise.
type Difference struct {
	Workspace   uuid.UUID
	What        string
	Left, Right int64
}

// String names the workspace and what differs with both numbers.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s: %d, %d", d.Workspace, d.What, d.Left, d.Right)
}

const (
	ledgerPage = 500    // workspaces whose ids are read at once
	ledgerRows = 20_000 // rows of a log that one statement reads

	stateOutOfRange = "22003" // SQLSTATE of a number that does not fit its type
)

// VerifyLedger proves the books of every workspace from its rows and reports what does not hold. It
// runs beside traffic: each workspace's totals are read in one short statement, so in one snapshot,
// and its log in pieces up to the row that the totals end with. Lists and sums of the log are never
// read in one long statement, whose snapshot would slow everybody else. checked counts workspaces.
func (s *Store) VerifyLedger(ctx context.Context, report func(Difference)) (checked int, err error) {
	after := uuid.Nil
	for {
		ids, err := s.workspaces(ctx, `
			select workspace_id from workspaces where workspace_id > $1 order by workspace_id limit $2`, after, ledgerPage)
		if err != nil {
			return checked, fmt.Errorf("list the workspaces: %w", err)
		}
		for _, id := range ids {
			err := s.verifyWorkspace(ctx, id, report)
			if state, _ := isServerError(err); state == stateOutOfRange {
				report(Difference{Workspace: id, What: "a sum of its rows does not fit 64 bits"})
			} else if err != nil {
				return checked, fmt.Errorf("verify %s: %w", id, err)
			}
			checked++
		}
		if len(ids) < ledgerPage {
			return checked, nil
		}
		after = ids[len(ids)-1]
	}
}

// verifyWorkspace checks the books of one workspace.
func (s *Store) verifyWorkspace(ctx context.Context, id uuid.UUID, report func(Difference)) error {
	b, err := s.books(ctx, id)
	if err != nil {
		return err
	}
	for _, d := range b.differences() {
		report(d)
	}
	if b.Gone {
		return nil // its log and keys are being freed
	}
	l, err := s.log(ctx, b)
	if err != nil {
		return err
	}
	rolled, err := s.rollupDifferences(ctx, id)
	if err != nil {
		return err
	}
	found := append(l.differences(b), rolled...)
	if len(found) == 0 {
		return nil
	}
	// It may have been deleted, and its log freed, since the totals were read.
	var gone bool
	err = s.pool.QueryRow(ctx, `select deleted_at is not null from workspaces where workspace_id = $1`, id).Scan(&gone)
	if err != nil || gone {
		return poolError(err)
	}
	for _, d := range found {
		report(d)
	}
	return nil
}

// books are a workspace's running totals and the sums of its money records at one instant.
type books struct {
	Workspace                                          uuid.UUID
	Gone                                               bool
	Balance, Granted, Spent, OwnerSpent, DeliverySpent int64
	Seq, FirstSeq, LastSeq                             int64 // of the row; of the log
	LastTS, LogTS                                      time.Time
	Deposits, Grants, Credits, Forfeits, Refunds       int64 // Grants: trial grants and credits that cannot be refunded
	Keys                                               map[uuid.UUID]int64
	KeysSpent                                          int64
}

// booksSQL is one statement, so one snapshot. It reads no more of the log than its two ends.
const booksSQL = `
	select w.workspace_id, w.deleted_at is not null,
	       w.balance, w.granted, w.spent, w.owner_spent, w.delivery_spent, w.seq,
	       coalesce((select min(a.seq) from activity a where a.workspace_id = $1), 0),
	       coalesce((select max(a.seq) from activity a where a.workspace_id = $1), 0),
	       w.last_ts, coalesce((select a.ts from activity a where a.workspace_id = $1 order by a.seq desc limit 1), w.created_at),
	       (select coalesce(sum(d.units), 0)::bigint from deposits d where d.workspace_id = $1 and d.state = 'credited'),
	       (select coalesce(sum(j.units), 0)::bigint from adjustments j
	         where j.workspace_id = $1 and (j.kind = 'trial_grant' or j.kind = 'credit' and not j.refundable)),
	       (select coalesce(sum(j.units), 0)::bigint from adjustments j where j.workspace_id = $1 and j.kind = 'credit' and j.refundable),
	       (select coalesce(sum(j.units), 0)::bigint from adjustments j where j.workspace_id = $1 and j.kind = 'forfeit'),
	       (select coalesce(sum(r.units), 0)::bigint from refunds r where r.workspace_id = $1 and r.state in ('pending', 'paid')),
	       (select coalesce(array_agg(k.subkey_id order by k.key_hash), '{}') from keys k where k.workspace_id = $1),
	       (select coalesce(array_agg(k.spent order by k.key_hash), '{}') from keys k where k.workspace_id = $1),
	       (select coalesce(sum(k.spent), 0)::bigint from keys k where k.workspace_id = $1)
	  from workspaces w where w.workspace_id = $1`

func (s *Store) books(ctx context.Context, id uuid.UUID) (books, error) {
	b := books{Keys: map[uuid.UUID]int64{}}
	var keys []*uuid.UUID
	var spent []int64
	err := s.pool.QueryRow(ctx, booksSQL, id).Scan(&b.Workspace, &b.Gone,
		&b.Balance, &b.Granted, &b.Spent, &b.OwnerSpent, &b.DeliverySpent, &b.Seq, &b.FirstSeq, &b.LastSeq, &b.LastTS, &b.LogTS,
		&b.Deposits, &b.Grants, &b.Credits, &b.Forfeits, &b.Refunds, &keys, &spent, &b.KeysSpent)
	for i, key := range keys {
		if key != nil { // nil is the owner key, whose spending the workspace's row counts
			b.Keys[*key] += spent[i]
		}
	}
	return b, poolError(err)
}

// differences are what does not hold in the totals themselves.
func (b books) differences() []Difference {
	c := check{workspace: b.Workspace}
	c.equal("deposits + adjustments = balance + spent + refunds + forfeited",
		b.Deposits+b.Grants+b.Credits, b.Balance+b.Spent+b.Refunds+b.Forfeits)
	c.atMost("0 <= balance", 0, b.Balance)
	c.atMost("0 <= granted", 0, b.Granted)
	c.atMost("granted <= balance", b.Granted, b.Balance)
	c.atMost("granted <= grants given", b.Granted, b.Grants)
	c.atMost("balance - granted <= deposits + refundable credits - refunds", b.Balance-b.Granted, b.Deposits+b.Credits-b.Refunds)
	if b.Gone {
		c.equal("balance of a deleted workspace = 0", b.Balance, 0)
		return c.found
	}
	c.equal("forfeited by a workspace that is alive = 0", b.Forfeits, 0)
	c.equal("spent = sum of keys + owner + deliveries", b.Spent, b.KeysSpent+b.OwnerSpent+b.DeliverySpent)
	c.equal("first seq of the log = 1", b.FirstSeq, 1)
	c.equal("last seq of the log = seq", b.LastSeq, b.Seq)
	c.equal("last time of the log = last_ts (microseconds)", b.LogTS.UnixMicro(), b.LastTS.UnixMicro())
	return c.found
}

// logSums are what a workspace's log says up to the row its totals end with.
type logSums struct {
	rows, disorder, paidRefusals, spent, owner, deliveries int64
	keys                                                   map[uuid.UUID]int64
}

// logGroup is a part of a piece of the log: the rows of one key, deliveries apart.
type logGroup struct {
	Subkey                       *uuid.UUID
	Delivery                     bool
	Rows, Cost, Disorder, Refuse int64
	LastTS                       time.Time
}

const logSQL = `
	select subkey_id, operation = 'WEBHOOK_DELIVERY', count(*), sum(cost)::bigint,
	       count(*) filter (where ts <= before), count(*) filter (where status <> 'OK' and cost <> 0), max(ts)
	  from (select subkey_id, operation, cost, status, ts, coalesce(lag(ts) over (order by seq), $4) as before
	          from activity where workspace_id = $1 and seq > $2 and seq <= $3) piece
	 group by 1, 2`

// log sums the log in pieces. Its rows never change, so pieces of different instants belong together.
func (s *Store) log(ctx context.Context, b books) (logSums, error) {
	l := logSums{keys: map[uuid.UUID]int64{}}
	var last *time.Time
	for from := int64(0); from < b.Seq; from += ledgerRows {
		groups, err := collect[logGroup](ctx, s, logSQL, b.Workspace, from, min(from+ledgerRows, b.Seq), last)
		if err != nil {
			return l, err
		}
		for _, g := range groups {
			l.add(g)
			if last == nil || g.LastTS.After(*last) {
				last = &g.LastTS
			}
		}
	}
	return l, nil
}

func (l *logSums) add(g logGroup) {
	l.rows += g.Rows
	l.disorder += g.Disorder
	l.paidRefusals += g.Refuse
	l.spent += g.Cost
	switch {
	case g.Subkey != nil:
		l.keys[*g.Subkey] += g.Cost
	case g.Delivery:
		l.deliveries += g.Cost
	default:
		l.owner += g.Cost
	}
}

// differences are what the log does not bear out of the totals.
func (l logSums) differences(b books) []Difference {
	c := check{workspace: b.Workspace}
	c.equal("rows of the log = seq (no gaps)", l.rows, b.Seq)
	c.equal("rows of the log that are not later than the one before = 0", l.disorder, 0)
	c.equal("refusals that cost something = 0", l.paidRefusals, 0)
	c.equal("spent = sum of the log", b.Spent, l.spent)
	c.equal("spent by the owner = sum of its log", b.OwnerSpent, l.owner)
	c.equal("spent on deliveries = sum of their log", b.DeliverySpent, l.deliveries)
	for key, spent := range b.Keys {
		c.equal("spent by sub-key "+key.String()+" = sum of its log", spent, l.keys[key])
		delete(l.keys, key)
	}
	for key, spent := range l.keys {
		c.equal("spent in the log by sub-key "+key.String()+", which does not exist = 0", spent, 0)
	}
	return c.found
}

// rollupDifferences are what the log does not bear out of its roll-up: as it has no gap, a place is a number of rows.
// What is not counted yet is read from the log, unless that is long.
func (s *Store) rollupDifferences(ctx context.Context, id uuid.UUID) ([]Difference, error) {
	rows, err := collect[struct{ Seq, Calls, Spent, Units int64 }](ctx, s, `
		select r.seq, h.calls, w.spent, case when w.seq - r.seq > $2 then w.spent
		       else h.units + (select coalesce(sum(a.cost), 0)::bigint from activity a where a.workspace_id = $1 and a.seq > r.seq) end
		  from workspaces w join workspace_rollups r on r.workspace_id = w.workspace_id
		  cross join (select coalesce(sum(calls), 0)::bigint as calls, coalesce(sum(units), 0)::bigint as units from workspace_totals where workspace_id = $1) h
		 where w.workspace_id = $1 and w.deleted_at is null`, id, ledgerRows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c := check{workspace: id}
	c.equal("rows counted by the roll-up = its place in the log", rows[0].Calls, rows[0].Seq)
	c.equal("spent = units of the roll-up and of the log after it", rows[0].Spent, rows[0].Units)
	return c.found, nil
}

// check gathers differences.
type check struct {
	workspace uuid.UUID
	found     []Difference
}

func (c *check) equal(what string, left, right int64) {
	if left != right {
		c.found = append(c.found, Difference{c.workspace, what, left, right})
	}
}

func (c *check) atMost(what string, left, right int64) {
	if left > right {
		c.found = append(c.found, Difference{c.workspace, what, left, right})
	}
}
