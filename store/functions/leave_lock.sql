-- Takes a waiting call whose caller is gone out of a lock's line. It belongs to the service itself and
-- proves no key. Locks the workspace row. others: somebody else may have the lock now.
create or replace function leave_lock(p_workspace uuid, p_name text, p_waiter uuid,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out others boolean)
language plpgsql as $$
declare
    t      tally := lock_workspace(p_workspace);
    now_ts timestamptz := aanet_now();
begin
    cost := 0;
    others := false;
    if t.workspace_id is not null and leave_line(p_workspace, p_name, p_waiter) then
        others := exists (
            select 1 from locks k where k.workspace_id = p_workspace and k.name = p_name
                and k.waiters > 0 and not (k.held and k.lease_expires_at > now_ts));
    end if;
end $$;
