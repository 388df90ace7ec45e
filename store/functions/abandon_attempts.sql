-- Records attempts whose outcome nobody will tell any more as unknown. Their events go on waiting.
-- The caller holds the workspace row.
create or replace function abandon_attempts(p_workspace uuid, p_webhook uuid, p_ids uuid[]) returns void
language plpgsql as $$
declare
    n bigint;
begin
    if p_ids = '{}' then
        return;
    end if;
    for n in
        update webhook_attempts x set finished = true, error = 'unknown'
         where x.workspace_id = p_workspace and x.delivery_id = any(p_ids) and not x.finished returning x.seq
    loop
        update webhook_deliveries q set attempts = q.attempts + 1
         where q.workspace_id = p_workspace and q.webhook_id = p_webhook and q.seq = n;
    end loop;
end $$;
