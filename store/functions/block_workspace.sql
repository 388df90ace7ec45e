-- The operator's block, or its end. Locks the workspace row; it binds from the very next call.
-- Returns in code: null, NOT_FOUND (admit_operator).
create or replace function block_workspace(p_workspace uuid, p_blocked boolean, p_reason text,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    if a.code is null then
        a.t.blocked := p_blocked;
        perform set_config('aanet.tally', (a.t)::text, true);
        update workspaces w set blocked_reason = case when p_blocked then p_reason end where w.workspace_id = p_workspace;
    end if;
    code := a.code; cost := 0; remaining := (a.t).balance;
end $$;
