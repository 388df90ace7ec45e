-- Leases a webhook to a worker and starts its next attempts, each charged and logged before it is sent.
-- What a dead worker left in flight is recorded as unknown: charged, and no failure of the receiver.
-- Locks the workspace row.
-- p_window: attempts at a time, 1 while the last one failed; p_ids: their ids, p_window of them
-- p_keep: how long an event waits
-- Returns in code: null; NOT_FOUND (nothing is to be sent any more); NOT_DUE (another worker has it, or had it);
-- WORKSPACE_BLOCKED; INSUFFICIENT_BALANCE (one log row, then it waits). The arrays tell the attempts,
-- in the order of the log; they are empty when nothing waits.
create or replace function begin_attempts(p_workspace uuid, p_webhook uuid, p_worker uuid, p_lease interval, p_window integer,
    p_price bigint, p_ids uuid[], p_keep interval,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out url text, out payload_version integer, out secret bytea, out previous_secret bytea, out failures integer,
    out turns bigint[], out numbers integer[], out log_seqs bigint[], out seqs bigint[], out times timestamptz[], out operations text[],
    out subkeys uuid[], out paths text[], out etags text[], out messages uuid[], out recipients uuid[])
language plpgsql as $$
declare
    a   admission := admit_operator(p_workspace);
    w   webhooks;
    d   record;
    e   activity;
    n   integer := 0;
    dropped integer := 0;
    due timestamptz;
begin
    cost := 0; turns := '{}'; numbers := '{}'; log_seqs := '{}'; seqs := '{}'; times := '{}'; operations := '{}';
    subkeys := '{}'; paths := '{}'; etags := '{}'; messages := '{}'; recipients := '{}';
    select * into w from webhooks h where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
    if w.webhook_id is null then
        code := 'NOT_FOUND';
        return;
    elsif a.code is not null or not w.active then
        update webhooks h set due_at = null where h.workspace_id = p_workspace and h.webhook_id = p_webhook and h.due_at is not null;
        code := 'NOT_FOUND';
        return;
    elsif w.due_at is null or w.due_at > a.ts then -- a lease ends when it is due again
        code := 'NOT_DUE';
        return;
    end if;
    perform abandon_attempts(p_workspace, p_webhook, w.in_flight);
    if w.enabled_at < a.ts - p_keep then
        delete from webhook_deliveries x where x.workspace_id = p_workspace and x.webhook_id = p_webhook and x.queued_at < a.ts - p_keep
           and x.turn in (select y.turn from webhook_deliveries y
                           where y.workspace_id = p_workspace and y.webhook_id = p_webhook order by y.turn limit 500);
        get diagnostics dropped = row_count;
    end if;
    if dropped = 500 then
        due := a.ts; -- there may be more of them
    elsif (a.t).blocked then
        code := 'WORKSPACE_BLOCKED';
        due := a.ts + interval '5 seconds';
    else
        for d in
            select q.turn, q.seq, q.attempts from webhook_deliveries q
             where q.workspace_id = p_workspace and q.webhook_id = p_webhook
             order by q.turn limit case when w.failures > 0 then 1 else p_window end
        loop
            if (a.t).balance < p_price then
                exit when n > 0;
                code := 'INSUFFICIENT_BALANCE';
                due := a.ts + interval '60 seconds';
                if not w.parked then
                    a.code := code;
                    a := settle(a, 'WEBHOOK_DELIVERY', p_webhook::text, 0);
                    w.parked := a.code = 'INSUFFICIENT_BALANCE';
                end if;
                exit;
            end if;
            n := n + 1;
            select * into e from activity x where x.workspace_id = p_workspace and x.seq = d.seq;
            insert into webhook_attempts (workspace_id, delivery_id, webhook_id, log_seq, seq, event_type, attempt, started_at)
            values (p_workspace, p_ids[n], p_webhook, a.seq, d.seq, event_of(e.operation), d.attempts + 1, a.ts);
            log_seqs := array_append(log_seqs, a.seq);
            a := settle(a, 'WEBHOOK_DELIVERY', p_webhook::text, p_price, p_ids[n]::text);
            turns := array_append(turns, d.turn); numbers := array_append(numbers, d.attempts + 1);
            seqs := array_append(seqs, e.seq); times := array_append(times, e.ts); operations := array_append(operations, e.operation);
            subkeys := array_append(subkeys, e.subkey_id); paths := array_append(paths, e.path); etags := array_append(etags, e.etag);
            messages := array_append(messages, e.message_id); recipients := array_append(recipients, e.recipient);
        end loop;
    end if;
    if n > 0 then
        w.parked := false;
        due := a.ts + p_lease;
    end if;
    cost := n * p_price;
    remaining := (a.t).balance;
    url := w.url; payload_version := w.payload_version; secret := w.secret; failures := w.failures;
    previous_secret := case when w.previous_until > a.ts then w.previous_secret end;
    update webhooks h set parked = w.parked, due_at = due, lease_until = case when n > 0 then due end,
           leased_by = case when n > 0 then p_worker end, in_flight = p_ids[1:n]
     where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
end $$;
