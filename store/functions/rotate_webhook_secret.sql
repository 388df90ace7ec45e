-- Gives a webhook a new secret; the one before signs beside it for p_overlap. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND.
create or replace function rotate_webhook_secret(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_webhook uuid, p_secret bytea, p_overlap interval, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out previous_until timestamptz)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        previous_until := a.ts + p_overlap;
        update webhooks h set previous_secret = h.secret, previous_until = rotate_webhook_secret.previous_until, secret = p_secret
         where h.workspace_id = p_workspace and h.webhook_id = p_webhook and h.deleted_at is null;
        if not found then
            a.code := 'NOT_FOUND';
        end if;
    end if;
    a := settle(a, p_operation, p_webhook::text, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(previous_until));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
