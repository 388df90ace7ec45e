-- Queues a call's event for the active webhooks that want it; a ping and a warning of a low balance are for
-- the one that their row names.
-- Money that came wakes those that wait for it. settle calls this for successful calls of workspaces
-- that have active webhooks. The caller holds the workspace row, so no delivery is queued unseen by
-- the engine: due_at is set here, and cleared (end_attempts) under that same lock.
create or replace function notify_webhooks(p_workspace uuid, p_operation text, p_path text, p_seq bigint, p_now timestamptz) returns void
language plpgsql as $$
declare
    event text := event_of(p_operation);
    w     record;
begin
    if event is null then
        if p_operation in ('DEPOSIT', 'ADJUSTMENT', 'REFUND') then
            update webhooks h set due_at = p_now where h.workspace_id = p_workspace and h.parked and h.due_at > p_now;
        end if;
        return;
    end if;
    for w in
        select h.webhook_id, h.due_at from webhooks h
         where h.workspace_id = p_workspace and h.active and (event = any(h.events) and event <> 'balance_low' or event in ('ping', 'balance_low') and h.webhook_id::text = p_path)
    loop
        insert into webhook_deliveries (workspace_id, webhook_id, turn, seq, queued_at)
        values (p_workspace, w.webhook_id, p_seq, p_seq, p_now);
        if w.due_at is null then
            update webhooks h set due_at = p_now where h.workspace_id = p_workspace and h.webhook_id = w.webhook_id;
        end if;
    end loop;
end $$;
