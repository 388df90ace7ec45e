-- Frees up to p_rows rows that a workspace's webhooks no longer need: all of deleted ones, attempts that
-- are older than p_attempts, and what has waited longer than p_held for a disabled one.
-- Locks the workspace row. Returns in code: null, NOT_FOUND (the workspace is gone: free_workspace frees it).
create or replace function tidy_webhooks(p_workspace uuid, p_rows integer, p_attempts interval, p_held interval,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a     admission := admit_operator(p_workspace);
    w     record;
    room  bigint := p_rows::bigint;
    freed bigint;
begin
    cost := 0;
    code := a.code;
    if code is not null then
        return;
    end if;
    for w in
        select h.webhook_id, h.active, h.deleted_at is not null as gone from webhooks h where h.workspace_id = p_workspace order by h.webhook_id
    loop
        if not w.active then
            delete from webhook_deliveries x
             where x.workspace_id = p_workspace and x.webhook_id = w.webhook_id and (w.gone or x.queued_at < a.ts - p_held)
               and x.turn in (select y.turn from webhook_deliveries y
                               where y.workspace_id = p_workspace and y.webhook_id = w.webhook_id order by y.turn limit room);
            get diagnostics freed = row_count; room := room - freed;
        end if;
        delete from webhook_attempts x
         where x.workspace_id = p_workspace and x.webhook_id = w.webhook_id and (w.gone or x.started_at < a.ts - p_attempts)
           and x.log_seq in (select y.log_seq from webhook_attempts y
                              where y.workspace_id = p_workspace and y.webhook_id = w.webhook_id order by y.log_seq limit room);
        get diagnostics freed = row_count; room := room - freed;
        if w.gone and room > 0 then
            delete from webhooks h where h.workspace_id = p_workspace and h.webhook_id = w.webhook_id;
            delete from webhook_hosts h where h.workspace_id = p_workspace and h.webhook_id = w.webhook_id;
            room := room - 1;
        end if;
        exit when room <= 0;
    end loop;
end $$;
