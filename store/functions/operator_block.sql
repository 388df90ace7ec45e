-- The operator's block, or its end. Locks the workspace row; it binds from the very next call. Writes the audit log.
-- Returns in code: null, NOT_FOUND (admit_operator).
create or replace function operator_block(p_workspace uuid, p_blocked boolean, p_act jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a      admission := admit_operator(p_workspace);
    reason text := case when p_blocked then p_act->>'reason' end;
    former jsonb;
begin
    if a.code is null then
        former := jsonb_build_object('blocked', (a.t).blocked, 'reason',
            (select w.blocked_reason from workspaces w where w.workspace_id = p_workspace));
        a.t.blocked := p_blocked;
        perform set_config('aanet.tally', (a.t)::text, true);
        update workspaces w set blocked_reason = reason where w.workspace_id = p_workspace;
        perform write_audit(p_act, a.ts, case when p_blocked then 'workspace.block' else 'workspace.unblock' end,
            'workspace', p_workspace::text, p_workspace, former, jsonb_build_object('blocked', p_blocked, 'reason', reason));
    end if;
    code := a.code; cost := 0; remaining := (a.t).balance;
end $$;
