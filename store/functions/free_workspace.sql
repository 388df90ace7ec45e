-- Frees up to p_rows rows of a workspace that is gone, so that a step is short however much there is.
-- A file counts by what it occupies, 2 kB of its body as one row: that is how Postgres keeps it.
-- Every table with a tenant's rows is named here, but for the money records and feedback, which stay. The statements are
-- alike and stand one by one: a loop over names would be dynamic SQL, which docs/functions_test.go cannot check.
-- done tells that nothing is left. Locks the workspace row.
-- Returns in code: null, NOT_FOUND (it is alive or unknown).
create or replace function free_workspace(p_workspace uuid, p_rows integer,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out done boolean)
language plpgsql as $$
declare
    t      tally := lock_workspace(p_workspace);
    room   bigint := p_rows::bigint;
    freed  bigint;
    now_ts timestamptz := aanet_now();
begin
    cost := 0;
    if t.workspace_id is null or not t.gone then
        code := 'NOT_FOUND';
        return;
    end if;
    with chosen as (
        select c.path, c.seq, c.rows, sum(c.rows) over (order by c.path, c.seq) - c.rows as before from (
            select x.path, x.seq, 1 + pg_column_size(x.body) / 2000 as rows from file_chunks x
             where x.workspace_id = p_workspace order by x.path, x.seq limit room) c),
    gone as (
        delete from file_chunks x where x.workspace_id = p_workspace and (x.path, x.seq) in (select c.path, c.seq from chosen c where c.before < room))
    select coalesce(sum(c.rows) filter (where c.before < room), 0)::bigint into freed from chosen c;
    room := greatest(room - freed, 0);
    with chosen as (
        select c.path, c.rows, sum(c.rows) over (order by c.path) - c.rows as before from (
            select x.path, 1 + pg_column_size(x.body) / 2000 as rows from files x
             where x.workspace_id = p_workspace order by x.path limit room) c),
    gone as (
        delete from files x where x.workspace_id = p_workspace and x.path in (select c.path from chosen c where c.before < room))
    select coalesce(sum(c.rows) filter (where c.before < room), 0)::bigint into freed from chosen c;
    room := greatest(room - freed, 0);
    delete from activity x where x.workspace_id = p_workspace and x.seq in (
        select y.seq from activity y where y.workspace_id = p_workspace order by y.seq limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from messages x where x.workspace_id = p_workspace and x.ts in (
        select y.ts from messages y where y.workspace_id = p_workspace order by y.ts limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from locks x where x.workspace_id = p_workspace and x.name in (
        select y.name from locks y where y.workspace_id = p_workspace order by y.name limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from lock_tickets x where x.workspace_id = p_workspace and x.waiter in (
        select y.waiter from lock_tickets y where y.workspace_id = p_workspace order by y.waiter limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from webhook_deliveries x where x.workspace_id = p_workspace and (x.webhook_id, x.turn) in (
        select y.webhook_id, y.turn from webhook_deliveries y where y.workspace_id = p_workspace order by y.webhook_id, y.turn limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from webhook_attempts x where x.workspace_id = p_workspace and x.delivery_id in (
        select y.delivery_id from webhook_attempts y where y.workspace_id = p_workspace order by y.delivery_id limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from webhook_hosts x where x.workspace_id = p_workspace and x.webhook_id in (
        select y.webhook_id from webhook_hosts y where y.workspace_id = p_workspace order by y.webhook_id limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from workspace_totals x where x.workspace_id = p_workspace and x.hour in (
        select y.hour from workspace_totals y where y.workspace_id = p_workspace order by y.hour limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from workspace_hours x where x.workspace_id = p_workspace and (x.hour, x.subkey_id, x.operation) in (
        select y.hour, y.subkey_id, y.operation from workspace_hours y where y.workspace_id = p_workspace order by y.hour, y.subkey_id, y.operation limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from webhooks x where x.workspace_id = p_workspace and x.webhook_id in (
        select y.webhook_id from webhooks y where y.workspace_id = p_workspace order by y.webhook_id limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from idempotency_keys x where x.workspace_id = p_workspace and (x.caller, x.once_key) in (
        select y.caller, y.once_key from idempotency_keys y where y.workspace_id = p_workspace order by y.caller, y.once_key limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from retired_keys x where x.workspace_id = p_workspace and x.key_hash in (
        select y.key_hash from retired_keys y where y.workspace_id = p_workspace order by y.key_hash limit room);
    get diagnostics freed = row_count; room := room - freed;
    delete from keys x where x.workspace_id = p_workspace and x.key_hash in (
        select y.key_hash from keys y where y.workspace_id = p_workspace order by y.key_hash limit room);
    get diagnostics freed = row_count; room := room - freed;
    done := room > 0;
    if done then
        update workspaces w set freed_at = now_ts, label = '' where w.workspace_id = p_workspace and w.freed_at is null;
    end if;
end $$;
