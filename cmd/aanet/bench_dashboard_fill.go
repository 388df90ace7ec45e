package main

import (
	"context"
	"fmt"
)

// The data of section j: many small workspaces and one that has everything by the thousand.
const (
	dashboardWorkspaces = 200_000 // unless --workspaces says otherwise, within the next two
	dashboardFewest     = 1000
	dashboardMost       = 5_000_000
	dashboardRows       = 5_000_000
	dashboardLarge      = 1_000_000 // of these rows in the one large workspace
	dashboardLargeKeys  = 10_000
)

// dashboardID is the SQL of an id whose order is that of age, from the number i. kind tells ids of different things apart.
func dashboardID(kind string) string {
	return `('01930000-0000-7000-8000-` + kind + `' || lpad(to_hex(i), 8, '0'))::uuid`
}

// dashboardFill makes the data, table by table; each statement takes the number of workspaces, and those that need
// it the rows of the log: for each of the small ones, and for the large one. Ages span the same time however many there are.
var dashboardFill = []struct{ table, insert string }{
	{"workspaces", `
		insert into workspaces (workspace_id, label, created_at, trial_expires_at, blocked, blocked_reason, balance, granted, spent, owner_spent, seq, last_ts, refusal_at, changed_hour, webhooks)
		select ` + dashboardID("0000") + `, 'workspace ' || i, now() - ($1 - i) * (interval '28 days' / $1) - interval '31 days', case when i % 20 = 0 then now() + interval '1 day' end,
		       i % 1000 = 0, case when i % 1000 = 0 then 'a reason' end, 1000 + i::bigint * 7919 % 1000003, 0, 0, 0, r.rows, r.last_ts, r.last_ts, date_bin('1 hour', r.last_ts, 'epoch'), (i % 10 = 0)::integer
		  from generate_series(1, $1::int) i cross join lateral (
		       select case when i = 1 then $3::bigint else $2::bigint end as rows, case when i = 1 then now() else now() - (i::bigint * 7919 % 2592000) * interval '1 second' end as last_ts) r`},
	{"activity", `
		insert into activity (workspace_id, seq, ts, subkey_id, operation, path, cost, status, detail)
		select w.workspace_id, s.seq, w.last_ts - (w.seq - s.seq) * case when w.seq = $3 then interval '2.5 seconds' else interval '90 seconds' end,
		       ('01930000-0000-7000-8000-0001' || lpad(to_hex(case when w.seq = $3 then s.seq / 100 % 10000 else s.seq / 10 % 3 end), 8, '0'))::uuid,
		       (array['PUT_FILE', 'GET_FILE', 'LOCK_ACQUIRE', 'LOCK_RELEASE', 'SEND_MESSAGE'])[1 + s.seq / 4 % 5], 'd/f' || s.seq % 50,
		       case when s.seq % 23 = 0 then 0 else 5 end, case when s.seq % 23 = 0 then 'NOT_FOUND' else 'OK' end, null
		  from workspaces w cross join lateral generate_series(1, w.seq) s (seq) where $1 > 0 and $2 > 0 order by 3`},
	{"keys", `
		insert into keys (workspace_id, key_hash, subkey_id, last4, label, spent, minted_seq, created_at, last_used_at)
		select w.workspace_id, decode(md5(w.workspace_id::text || k) || md5(k::text), 'hex'), case when k > 0 then ('01930000-0000-7000-8000-0001' || lpad(to_hex(k), 8, '0'))::uuid end,
		       right(md5(k::text || w.workspace_id), 4), 'agent ' || k, k, k + 1, w.created_at, w.last_ts
		  from workspaces w cross join lateral generate_series(0, case when w.seq = $3 then 10000 else 3 end) k where $1 > 0 and $2 > 0`},
	{"files", `
		insert into files (workspace_id, path, etag, size, body, created_at, updated_at)
		select w.workspace_id, 'd' || f % 1000 || '/f' || f, 'v1', 5, 'hello', w.created_at, w.last_ts
		  from workspaces w cross join lateral generate_series(1, case when w.seq = $3 then 50000 else 1 end) f where $1 > 0 and $2 > 0`},
	{"locks", `
		insert into locks (workspace_id, name, held, holder, lease_expires_at, fencing_token, acquire_count, last_acquired_at)
		select w.workspace_id, 'lock/' || l, true, null, now() + interval '1 day', 1, 1, w.last_ts
		  from workspaces w cross join lateral generate_series(1, case when w.seq = $3 then 5000 else 1 end) l where $1 > 0 and $2 > 0`},
	{"webhooks", `
		insert into webhooks (workspace_id, webhook_id, url, events, payload_version, secret, active, failures, enabled_at, created_seq, created_at)
		select ` + dashboardID("0000") + `, ` + dashboardID("0002") + `, 'https://hooks' || case when i % 20 = 0 then '' else (i % 5000)::text end || '.example/a', '{message}', 1, '', i % 500 <> 0, case when i % 300 = 0 then 4 else 0 end, now(), 1, now()
		  from generate_series(1, $1::int) i where i % 10 = 0 and $2 > 0 and $3 > 0`},
	{"webhook_hosts", `
		insert into webhook_hosts (workspace_id, webhook_id, host) select workspace_id, webhook_id, split_part(url, '/', 3) from webhooks where $1 > 0 and $2 > 0 and $3 > 0`},
	{"deposits", `
		insert into deposits (workspace_id, deposit_id, state, units, network, created_at, resolved_at, payer, tx_hash)
		select ` + dashboardID("0000") + `, ` + dashboardID("0003") + `, case when i % 50 = 0 then 'failed' when i % 4001 = 0 then 'unknown' else 'credited' end, 100000,
		       (array['eip155:8453', 'eip155:137', 'eip155:42161', 'eip155:43114', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'])[1 + i % 5],
		       now() - ($1 - i) * (interval '60 days' / $1), now() - ($1 - i) * (interval '60 days' / $1), '0x' || lpad(to_hex(i % 90000), 40, '0'), '0x' || lpad(to_hex(i), 64, '0')
		  from generate_series(1, $1::int) i where $2 > 0 and $3 > 0`},
	{"refunds", `
		insert into refunds (workspace_id, refund_id, state, units, fee, network, destination, requested_at, resolved_at, tx_hash)
		select ` + dashboardID("0000") + `, ` + dashboardID("0004") + `, case when i % 500 = 0 then 'pending' else 'paid' end, 5000, 2000, 'base', '0x' || lpad(to_hex(i), 40, 'a'),
		       now() - ($1 - i) * (interval '30 days' / $1), case when i % 500 <> 0 then now() end, case when i % 500 <> 0 then '0x' || lpad(to_hex(i), 64, 'b') end
		  from generate_series(1, $1::int) i where i % 10 = 0 and $2 > 0 and $3 > 0`},
	{"adjustments", `
		insert into adjustments (workspace_id, adjustment_id, kind, units, reason, created_at)
		select ` + dashboardID("0000") + `, ` + dashboardID("0005") + `, 'credit', 100, 'a gift', now() - ($1 - i) * (interval '30 days' / $1) from generate_series(1, $1::int) i where $2 > 0 and $3 > 0`},
	{"feedback", `
		insert into feedback (workspace_id, feedback_id, category, title, description, pledged_budget_usd, status, created_at)
		select ` + dashboardID("0000") + `, ` + dashboardID("0006") + `, 'feature', 'title ' || i, 'text', i % 997, case when i % 30 = 0 then 'open' else 'done' end, now() - ($1 - i) * (interval '30 days' / $1)
		  from generate_series(1, $1::int) i where i % 10 = 0 and $2 > 0 and $3 > 0`},
	{"answer_minutes", `
		insert into answer_minutes (at, replica, what, calls)
		select date_bin('1 minute', now(), 'epoch') - m * interval '1 minute', ('01930000-0000-7000-8000-' || lpad(r::text, 12, '0'))::uuid, ` + dashboardWhat + `, 10 + b
		  from generate_series(0, 2879) m, generate_series(1, 2) r, generate_series(0, 39) b where $1 > 0 and $2 > 0 and $3 > 0`},
	{"answer_hours", `
		insert into answer_hours (at, what, calls)
		select date_bin('1 hour', now(), 'epoch') - h * interval '1 hour', ` + dashboardWhat + `, 1000 + b
		  from generate_series(0, 2159) h, generate_series(0, 39) b where $1 > 0 and $2 > 0 and $3 > 0`},
}

// dashboardWhat is 20 codes and 20 times from the number b.
const dashboardWhat = `case when b = 0 then 'OK' when b < 20 then 'CODE_' || chr(64 + b) else 'time:' || lpad((b - 20)::text, 2, '0') end`

// fillDashboard makes the data of section j and counts its logs.
func (d *benchDatabase) fillDashboard(ctx context.Context) error {
	workspaces := d.bench.rows(d.bench.many)
	large := d.bench.rows(dashboardLarge)
	each := max((d.bench.rows(dashboardRows)-large)/(workspaces-1), 1)
	d.bench.progress("   writing %d workspaces and %d log rows", workspaces, each*(workspaces-1)+large)
	for _, f := range dashboardFill {
		if err := d.withoutIndexes(ctx, f.table, f.insert, workspaces, each, large); err != nil {
			return fmt.Errorf("fill %s: %w", f.table, err)
		}
	}
	for _, statement := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := d.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	d.bench.progress("   counting the logs")
	if err := d.store.RollUp(ctx); err != nil {
		return err
	}
	for _, statement := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := d.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
