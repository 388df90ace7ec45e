-- Ends a webhook: nothing more is sent to it. Its rows are freed later (tidy_webhooks).
-- Locks the workspace row. May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND.
create or replace function delete_webhook(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_webhook uuid, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
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
        else
            update webhooks h set deleted_at = a.ts, active = false, due_at = null, lease_until = null, leased_by = null
             where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
            if w.active then
                a.t.webhooks := (a.t).webhooks - 1;
            end if;
        end if;
    end if;
    a := settle(a, p_operation, p_webhook::text, 0);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array());
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
