-- The operator enables a webhook (its failures are forgotten and what waits is due now) or disables it.
-- Locks the workspace row. Writes the audit log.
-- Returns in code: null; NOT_FOUND (no such webhook, or its workspace is gone); CONFLICT (it is so already);
-- WEBHOOK_LIMIT (p_active_max others are active).
create or replace function operator_webhook(p_workspace uuid, p_webhook uuid, p_active boolean, p_active_max integer, p_act jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
    w webhooks;
begin
    cost := 0;
    remaining := (a.t).balance;
    select * into w from webhooks h where h.workspace_id = p_workspace and h.webhook_id = p_webhook and h.deleted_at is null;
    if a.code is not null or w.webhook_id is null then
        code := 'NOT_FOUND';
    elsif w.active = p_active and (w.failures = 0 or not p_active) then
        code := 'CONFLICT';
    elsif p_active and not w.active and (a.t).webhooks >= p_active_max then
        code := 'WEBHOOK_LIMIT';
    else
        update webhooks h
           set active = p_active, failures = case when p_active then 0 else h.failures end,
               parked = h.parked and not p_active,
               disabled_reason = case when not p_active then 'operator' end,
               disabled_at = case when not p_active then a.ts end,
               enabled_at = case when p_active and not w.active then a.ts else h.enabled_at end,
               due_at = case when not p_active then null when h.lease_until > a.ts then h.due_at else a.ts end,
               -- A worker that has it must not bring it back to life with the outcome of its attempts.
               lease_until = case when p_active then h.lease_until end, leased_by = case when p_active then h.leased_by end
         where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
        if w.active <> p_active then
            a.t.webhooks := (a.t).webhooks + case when p_active then 1 else -1 end;
            a.t.low_at := arm_low(p_workspace, (a.t).balance);
            perform set_config('aanet.tally', (a.t)::text, true);
        end if;
        perform write_audit(p_act, a.ts, case when p_active then 'webhook.enable' else 'webhook.disable' end,
            'webhook', p_webhook::text, p_workspace,
            jsonb_build_object('active', w.active, 'failures', w.failures, 'disabled_reason', w.disabled_reason),
            jsonb_build_object('active', p_active, 'failures', case when p_active then 0 else w.failures end,
                'disabled_reason', case when not p_active then 'operator' end));
    end if;
end $$;
