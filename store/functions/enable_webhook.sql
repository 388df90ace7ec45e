-- Makes a disabled webhook active again, or an active one that backs off due now: its failures are
-- forgotten and what waits is sent. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND, WEBHOOK_LIMIT (p_active_max others are active).
create or replace function enable_webhook(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_webhook uuid, p_active_max integer, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out url text, out events text[], out created_at timestamptz, out low_units bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    w webhooks;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        select * into w from webhooks h where h.workspace_id = p_workspace and h.webhook_id = p_webhook and h.deleted_at is null;
        if w.webhook_id is null then
            a.code := 'NOT_FOUND';
        elsif not w.active and (a.t).webhooks >= p_active_max then
            a.code := 'WEBHOOK_LIMIT';
        end if;
    end if;
    if a.code is null then
        update webhooks h set active = true, disabled_reason = null, disabled_at = null, failures = 0, parked = false,
               enabled_at = case when w.active then h.enabled_at else a.ts end,
               due_at = case when h.lease_until > a.ts then h.due_at else a.ts end
         where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
        if not w.active then
            a.t.webhooks := (a.t).webhooks + 1;
            a.t.low_at := arm_low(p_workspace, (a.t).balance);
        end if;
        url := w.url; events := w.events; created_at := w.created_at; low_units := w.balance_low_units;
    end if;
    a := settle(a, p_operation, p_webhook::text, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(url, events, created_at, low_units));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
