-- Ends a workspace: its keys are dead from here on, its rows are freed later (free_workspace). The
-- money left is forfeited by one closing entry, which keeps the operator's books true.
-- Locks the workspace row. May refuse: admit's codes, REFUND_PENDING, DEPOSIT_PENDING.
create or replace function delete_workspace(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_closing uuid,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out forfeited bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if a.code is null and exists (select 1 from refunds r where r.workspace_id = p_workspace and r.state = 'pending') then
        a.code := 'REFUND_PENDING';
    elsif a.code is null and exists (
        select 1 from deposits d where d.workspace_id = p_workspace and d.state in ('received', 'settling', 'unknown'))
    then
        a.code := 'DEPOSIT_PENDING';
    end if;
    forfeited := (a.t).balance;
    a := settle(a, p_operation, null, 0);
    if a.code is null then
        a.t := close_workspace(a.t, p_closing, 'deleted by its owner', a.ts);
        a.remaining := 0;
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
