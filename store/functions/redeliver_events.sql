-- Queues events of the log once more for one webhook. p_seqs that are no events, or wait already, are
-- left out; queued counts the others. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND, WEBHOOK_DISABLED.
create or replace function redeliver_events(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_webhook uuid, p_seqs bigint[], p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out queued bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    w webhooks;
    n bigint;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    queued := 0;
    if a.code is null then
        select * into w from webhooks h where h.workspace_id = p_workspace and h.webhook_id = p_webhook and h.deleted_at is null;
        if w.webhook_id is null then
            a.code := 'NOT_FOUND';
        elsif not w.active then
            a.code := 'WEBHOOK_DISABLED';
        end if;
    end if;
    if a.code is null then
        for n in
            select e.seq from activity e
             where e.workspace_id = p_workspace and e.seq = any(p_seqs) and e.status = 'OK' and event_of(e.operation) is not null
               and not exists (select 1 from webhook_deliveries d
                                where d.workspace_id = p_workspace and d.webhook_id = p_webhook and d.seq = e.seq)
             order by e.seq
        loop
            insert into webhook_deliveries (workspace_id, webhook_id, turn, seq, queued_at) values (p_workspace, p_webhook, n, n, a.ts);
            queued := queued + 1;
        end loop;
        if queued > 0 and w.due_at is null then
            update webhooks h set due_at = a.ts where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
        end if;
    end if;
    a := settle(a, p_operation, p_webhook::text, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(queued));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
