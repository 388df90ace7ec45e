package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// WorkspaceView is a workspace as the operator sees it. Contents of files and bodies of messages are the tenant's alone:
// nothing in this file reads them.
type WorkspaceView struct {
	ID                            uuid.UUID
	Label                         string
	CreatedAt                     time.Time
	TrialExpiresAt                *time.Time
	Blocked                       bool
	BlockedReason                 *string
	DeletedAt, FreedAt            *time.Time
	Balance, Granted, Spent       int64
	OwnerSpent, DeliverySpent     int64
	LogRows                       int64
	LastAt                        time.Time
	OwnerLast4                    *string
	Subkeys, SubkeysAlive         int64
	Files, FileBytes              int64 // counted up to FilesCounted
	LocksHeld, Webhooks           int64
	Deposited, Refunded, Adjusted int64 // units: credited deposits; refunds that are pending or paid; grants and credits
	RefundsPending                int64
	MessagesMonth, MessagesEver   int64 // sent in the last 30 days, and ever, as of CountedAt
	CountedAt                     *time.Time
}

// FilesCounted is up to how many files of a workspace are counted for its page.
const FilesCounted = 20_000

// WorkspaceView reads one. ErrNoWorkspace: there is none, not even a deleted one.
func (s *Store) WorkspaceView(ctx context.Context, id uuid.UUID) (WorkspaceView, error) {
	return collectOne[WorkspaceView](ctx, s, ErrNoWorkspace, `
		select w.workspace_id, w.label, w.created_at, w.trial_expires_at, w.blocked, w.blocked_reason, w.deleted_at, w.freed_at,
		       w.balance, w.granted, w.spent, w.owner_spent, w.delivery_spent, w.seq, w.last_ts,
		       (select k.last4 from keys k where k.workspace_id = $1 and k.subkey_id is null and k.revoked_at is null order by k.created_at desc limit 1),
		       k.n, k.alive, f.n, f.bytes,
		       (select count(*) from locks l where l.workspace_id = $1 and l.held and l.lease_expires_at > (select aanet_now())), w.webhooks,
		       (select coalesce(sum(d.units), 0)::bigint from deposits d where d.workspace_id = $1 and d.state = 'credited'),
		       (select coalesce(sum(r.units), 0)::bigint from refunds r where r.workspace_id = $1 and r.state in ('pending', 'paid')),
		       (select coalesce(sum(j.units), 0)::bigint from adjustments j where j.workspace_id = $1 and j.kind <> 'forfeit'),
		       (select count(*) from refunds r where r.workspace_id = $1 and r.state = 'pending'), m.recent, m.once, (select p.ts from workspace_rollups p where p.workspace_id = $1)
		  from workspaces w
		  cross join (select count(*) as n, count(*) filter (where revoked_at is null) as alive from keys where workspace_id = $1 and subkey_id is not null) k
		  cross join (select count(*) as n, coalesce(sum(size), 0)::bigint as bytes from (select size from files where workspace_id = $1 limit $2) x) f
		  cross join (select coalesce(sum(messages), 0)::bigint as once, coalesce(sum(messages) filter (where hour > (select aanet_now()) - interval '30 days'), 0)::bigint as recent
		                from workspace_totals where workspace_id = $1) m
		 where w.workspace_id = $1`, id, FilesCounted)
}

// BalancePoint is the balance of a workspace at an instant, and what was charged in the time before it.
type BalancePoint struct {
	At                     time.Time
	Balance                int64
	Units, Calls, Refusals int64
}

// BalanceHistory gives the balance at the end of the last n steps, a step being hours long, and now as the last point; all
// in one snapshot, from the roll-up, the money records and what is not counted yet. Times before the workspace was made
// are left out. Hours that are no longer kept (KeepHours) show no charges, so ask for no more.
func (s *Store) BalanceHistory(ctx context.Context, id uuid.UUID, now time.Time, step time.Duration, n int) ([]BalancePoint, error) {
	first := now.Truncate(step).Add(-time.Duration(n-1) * step)
	return collect[BalancePoint](ctx, s, `
		with w as (select balance, created_at from workspaces where workspace_id = $1),
		place as (select coalesce(max(seq), 0) as seq from workspace_rollups where workspace_id = $1),
		points as (
			select least(p.at, $4) as at from (select generate_series($2::timestamptz, $4::timestamptz + $3::interval, $3::interval) as at) p
			 where p.at - $3::interval < $4 and p.at > (select created_at from w)),
		moved as (
			select hour as at, hour + interval '1 hour' as until, units, calls, refusals from workspace_totals where workspace_id = $1 and hour >= $2::timestamptz - $3::interval
			union all
			select ts, ts, cost, 1, (status <> 'OK')::integer from activity where workspace_id = $1 and seq > (select seq from place)
			union all
			select at, at, case when target = 'workspace' then -units else units end, 0, 0 from ledger_entries
			 where workspace_id = $1 and kind <> 'charges' and 'workspace' in (source, target) and at >= $2::timestamptz - $3::interval),
		steps as (
			select greatest(date_bin($3::interval, at, 'epoch') + $3::interval, $2) as at, sum(units) as net, sum(units) filter (where calls > 0) as units,
			       sum(calls) as calls, sum(refusals) as refusals from moved group by 1)
		select p.at, ((select balance from w) + coalesce(sum(s.net) over (order by p.at desc rows between unbounded preceding and 1 preceding), 0))::bigint,
		       coalesce(s.units, 0)::bigint, coalesce(s.calls, 0)::bigint, coalesce(s.refusals, 0)::bigint
		  from points p left join steps s on least(s.at, $4) = p.at order by p.at`, id, first, step, now)
}

// ViewedKey is a key as the operator sees it.
type ViewedKey struct {
	MintedSeq  int64
	Subkey     *uuid.UUID // nil: an owner key
	Label      string
	Last4      string
	Scope      *string
	BudgetCap  *int64
	Spent      int64
	PerHour    *int64
	PerDay     *int64
	CreatedAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

// ViewKeys lists the keys of a workspace, the newest first, that were made before a log row (0: all).
func (s *Store) ViewKeys(ctx context.Context, id uuid.UUID, before int64, limit int) ([]ViewedKey, error) {
	return collect[ViewedKey](ctx, s, `
		select minted_seq, subkey_id, label, last4, scope, budget_cap, spent, (limits).per_hour, (limits).per_day, created_at, last_used_at, revoked_at
		  from keys where workspace_id = $1 and ($2 = 0 or minted_seq < $2) order by minted_seq desc limit $3`, id, before, limit)
}

// ActivityView narrows the log for the operator; nil and empty fields do not.
type ActivityView struct {
	Subkey            *uuid.UUID
	Operation, Status string
	Refused           bool  // only refusals
	Before            int64 // only rows before this seq; 0: all
	Limit             int
}

// ActivityLook is how many rows of a log one page of the operator's may look at, so that a rare row far back costs a step
// of reading more and not a long statement.
const ActivityLook = 20_000

// ViewActivity gives a page of the log, newest first, and the seq before which to look further; 0: there is nothing before.
func (s *Store) ViewActivity(ctx context.Context, id uuid.UUID, v ActivityView) (rows []ActivityRow, next int64, err error) {
	if v.Before <= 0 {
		v.Before = 1 << 62
	}
	err = s.pool.QueryRow(ctx, `select coalesce(max(seq), 0) + 1 from activity where workspace_id = $1 and seq < $2`, id, v.Before).Scan(&v.Before)
	if err != nil {
		return nil, 0, poolError(err)
	}
	from := v.Before - ActivityLook
	rows, err = collect[ActivityRow](ctx, s, `
		select seq, ts, subkey_id, operation, path, cost, status, detail from activity
		 where workspace_id = $1 and seq < $2 and seq >= $3 and ($4::uuid is null or subkey_id = $4) and ($5 = '' or operation = $5)
		   and ($6 = '' or status = $6) and (not $7 or status <> 'OK') order by seq desc limit $8`,
		id, v.Before, from, v.Subkey, v.Operation, v.Status, v.Refused, v.Limit)
	switch {
	case err != nil:
	case len(rows) == v.Limit:
		next = rows[len(rows)-1].Seq
	case from > 1:
		next = from
	}
	if next <= 1 {
		next = 0
	}
	return rows, next, err
}

// ViewedLock is a lock that is held.
type ViewedLock struct {
	Name       string
	Holder     *uuid.UUID // nil: the owner
	AcquiredAt time.Time
	ExpiresAt  time.Time
	Token      int64
	Waiters    int64
}

// ViewLocks lists the locks that are held, by name, after a name.
func (s *Store) ViewLocks(ctx context.Context, id uuid.UUID, after string, limit int) ([]ViewedLock, error) {
	return collect[ViewedLock](ctx, s, `
		select name, holder, last_acquired_at, lease_expires_at, fencing_token, waiters::bigint from locks
		 where workspace_id = $1 and held and lease_expires_at > (select aanet_now()) and ($2 = '' or name > $2) order by name limit $3`, id, after, limit)
}

// ViewedFile is an entry of a directory: its size and never its content.
type ViewedFile struct {
	Name      string     // directories end with "/"
	Size      *int64     // bytes; nil: a directory
	UpdatedAt *time.Time // nil: a directory
}

// ViewDirectory lists a page of a directory ("" is the root) in byte order of names, after a name; next is nil at the end.
func (s *Store) ViewDirectory(ctx context.Context, id uuid.UUID, path string, after *string, limit int) (files []ViewedFile, next *string, err error) {
	var entries []string
	err = s.pool.QueryRow(ctx, `select entries, next_after from directory($1, $2, $3, $4)`, id, path, after, limit).Scan(&entries, &next)
	if err != nil {
		return nil, nil, poolError(err)
	}
	prefix := path
	if prefix != "" {
		prefix += "/"
	}
	files, err = collect[ViewedFile](ctx, s, `
		select e.name, f.size::bigint, f.updated_at from unnest($2::text[]) with ordinality e (name, n)
		  left join files f on f.workspace_id = $1 and f.path = $3 || e.name order by e.n`, id, entries, prefix)
	return files, next, err
}

// ViewedWebhook is a webhook with its health.
type ViewedWebhook struct {
	ID             uuid.UUID
	URL            string
	Events         []string
	Active         bool
	DisabledReason *string
	Failures       int64
	Parked         bool // waits for money
	CreatedAt      time.Time
	DueAt          *time.Time
	Waiting        int64 // events, counted up to 1,000
}

// ViewWebhooks lists the webhooks of a workspace, disabled ones included; there are at most 50.
func (s *Store) ViewWebhooks(ctx context.Context, id uuid.UUID) ([]ViewedWebhook, error) {
	return collect[ViewedWebhook](ctx, s, `
		select h.webhook_id, h.url, h.events, h.active, h.disabled_reason, h.failures::bigint, h.parked, h.created_at, h.due_at,
		       (select count(*) from (select 1 from webhook_deliveries d where d.workspace_id = $1 and d.webhook_id = h.webhook_id limit 1000) x)
		  from webhooks h where h.workspace_id = $1 and h.deleted_at is null order by h.created_seq`, id)
}

// MoneyEntry is a deposit, a refund or an adjustment of a workspace.
type MoneyEntry struct {
	At      time.Time
	ID      uuid.UUID
	Kind    string // deposit, refund, or the kind of an adjustment
	State   string // empty: an adjustment
	Units   int64  // above 0: into the balance; a deposit that was not credited did not come there
	Network string
	Party   string // who paid, or was paid
	Hash    string // of the transaction
	Reason  string
}

// ViewMoney lists a workspace's money records, the newest first, before an instant and id (nil: from the newest).
func (s *Store) ViewMoney(ctx context.Context, id uuid.UUID, before *MoneyEntry, limit int) ([]MoneyEntry, error) {
	if before == nil {
		before = &MoneyEntry{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	}
	return collect[MoneyEntry](ctx, s, `
		select at, id, kind, state, units, network, party, hash, reason from (
			(select created_at as at, deposit_id as id, 'deposit' as kind, state, units, network, coalesce(payer, '') as party, coalesce(tx_hash, '') as hash, coalesce(reason, '') as reason
			   from deposits where workspace_id = $1)
			union all
			(select requested_at, refund_id, 'refund', state, -units, network, destination, coalesce(tx_hash, ''), coalesce(reason, '') from refunds where workspace_id = $1)
			union all
			(select created_at, adjustment_id, kind, '', case when kind = 'forfeit' then -units else units end, '', '', '', reason from adjustments where workspace_id = $1)) m
		 where (at, id) < ($2, $3) order by at desc, id desc limit $4`, id, before.At, before.ID, limit)
}
