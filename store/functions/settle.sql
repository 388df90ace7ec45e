-- The last step of every call: charge it, write its log row, carry the totals on to the next call
-- of the batch. A refusal (code is set) costs nothing and its row is paid from the workspace's
-- budget of refusal rows (50 a second, burst 500; aanet.refusal_rate and aanet.refusal_burst);
-- beyond that the answer becomes RATE_LIMITED and leaves no row. A replay leaves no row either.
-- Writes activity and keys; the workspace row itself is written by flush.
-- Returns the admission with cost and remaining set, ready for a further row of the same call.
create or replace function settle(a admission, p_operation text, p_path text, p_cost bigint,
    p_detail text default null, p_etag text default null,
    p_message uuid default null, p_recipient uuid default null) returns admission
language plpgsql as $$
declare
    t tally := a.t;
begin
    a.cost := 0;
    if a.seq is null then
        return a;
    end if;
    if a.code is not null then
        a.remaining := case when a.code <> 'UNAUTHENTICATED' then remaining(a) end;
        if a.code = 'REPLAYED' then
            perform touch_key(a);
            return a;
        end if;
        t := refusal_budget(t, a.ts);
        if t.refusal_tokens < 0 then
            a.code := 'RATE_LIMITED';
            a.info := jsonb_build_object('retry_after', 1);
            return a;
        end if;
        if a.code = 'UNAUTHENTICATED' then
            a.info := '{"logged": true}'; -- a revoked key: the answer must be what the row says
        end if;
    elsif p_cost > 0 then
        a.cost := p_cost;
        t.balance := t.balance - p_cost;
        t.granted := greatest(t.granted - p_cost, 0);
        t.spent := t.spent + p_cost;
        if a.is_owner then
            t.owner_spent := t.owner_spent + p_cost;
        elsif a.subkey_id is null then -- the service itself
            t.delivery_spent := t.delivery_spent + p_cost;
        end if;
    end if;
    if a.subkey_id is not null and (a.cost > 0 or a.last_used_at is null or a.last_used_at < a.ts - interval '1 second') then
        -- By its place: nobody else moves a key's row while the workspace row is held.
        if a.limits is null or a.cost = 0 then
            update keys set spent = spent + a.cost, last_used_at = a.ts, era = a.era
             where workspace_id = t.workspace_id and ctid = a.key_at returning ctid into a.key_at;
        else
            a := spend_in_windows(a);
            update keys set spent = spent + a.cost, last_used_at = a.ts, limits = a.limits, era = a.era
             where workspace_id = t.workspace_id and ctid = a.key_at returning ctid into a.key_at;
        end if;
        if not found then
            raise exception 'the row of a key of workspace % has moved', t.workspace_id;
        end if;
        a.key_spent := a.key_spent + a.cost;
        a.last_used_at := a.ts;
    end if;
    insert into activity (workspace_id, seq, ts, subkey_id, operation, path, cost, status, detail, etag, message_id, recipient)
    values (t.workspace_id, a.seq, a.ts, a.subkey_id, p_operation, p_path, a.cost, coalesce(a.code, 'OK'), p_detail, p_etag, p_message, p_recipient);
    if t.webhooks > 0 and a.code is null then
        perform notify_webhooks(t.workspace_id, p_operation, p_path, a.seq, a.ts);
        if p_operation in ('DEPOSIT', 'ADJUSTMENT', 'REFUND') then
            t.low_at := arm_low(t.workspace_id, t.balance);
        end if;
    end if;
    t.seq := a.seq;
    t.last_ts := a.ts;
    if set_config('aanet.tally', t::text, true) is null then -- a condition, unlike perform, needs no executor
        raise exception 'the totals of workspace % were not kept', t.workspace_id;
    end if;
    a.t := t;
    if a.code is null then
        a.remaining := remaining(a);
    end if;
    a.seq := a.seq + 1;
    a.ts := a.ts + interval '1 microsecond';
    if t.balance < t.low_at then
        a := warn_low(a);
    end if;
    return a;
end $$;
