-- Sends a ping to one webhook: its log row is the event (notify_webhooks). Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND, WEBHOOK_DISABLED.
create or replace function ping_webhook(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_webhook uuid, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out seq bigint)
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
        elsif not w.active then
            a.code := 'WEBHOOK_DISABLED';
        end if;
    end if;
    seq := a.seq;
    a := settle(a, p_operation, p_webhook::text, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(seq));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
