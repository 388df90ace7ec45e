-- Takes a waiting call's ticket away, if it has one. The caller holds the workspace row.
-- Returns whether it had one.
create or replace function leave_line(p_workspace uuid, p_name text, p_waiter uuid) returns boolean
language plpgsql as $$
declare
    mine bigint;
begin
    delete from lock_tickets t where t.workspace_id = p_workspace and t.waiter = p_waiter returning t.ticket into mine;
    if mine is null then
        return false;
    end if;
    update locks k set waiters = greatest(k.waiters - 1, 0), reserved_for = nullif(k.reserved_for, mine)
     where k.workspace_id = p_workspace and k.name = p_name;
    return true;
end $$;
