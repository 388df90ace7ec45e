-- Registers a webhook with its encrypted secret. Locks the workspace row.
-- p_low: a balance below it is warned of; null: none is. p_active_max: active ones a workspace may have; p_rows_max: all of them, disabled ones included.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, WEBHOOK_LIMIT.
create or replace function register_webhook(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_webhook uuid, p_url text, p_events text[], p_version integer, p_secret bytea, p_low bigint,
    p_active_max integer, p_rows_max integer, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null and ((a.t).webhooks >= p_active_max
        or (select count(*) from webhooks h where h.workspace_id = p_workspace and h.deleted_at is null) >= p_rows_max)
    then
        a.code := 'WEBHOOK_LIMIT';
    end if;
    if a.code is null then
        insert into webhooks (workspace_id, webhook_id, url, events, payload_version, secret, balance_low_units, low_armed, enabled_at, created_seq, created_at)
        values (p_workspace, p_webhook, p_url, p_events, p_version, p_secret, p_low, coalesce(p_low <= (a.t).balance, false), a.ts, a.seq, a.ts);
        insert into webhook_hosts (workspace_id, webhook_id, host)
        values (p_workspace, p_webhook, lower(coalesce(substring(p_url from '^[^/]*//(\[[^]]*\]|[^/:?#]+)'), p_url)));
        a.t.webhooks := (a.t).webhooks + 1;
        if p_low <= (a.t).balance then
            a.t.low_at := greatest((a.t).low_at, p_low);
        end if;
    end if;
    a := settle(a, p_operation, case when a.code is null then p_webhook::text end, 0);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array());
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
