-- Frees up to p_rows rows of each kind of a workspace that is gone, so that a step is short however
-- much there is. Money records and feedback stay. done tells that nothing is left.
-- Locks the workspace row. Returns in code: null, NOT_FOUND (it is alive or unknown).
create or replace function free_workspace(p_workspace uuid, p_rows integer,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out done boolean)
language plpgsql as $$
declare
    t      tally := lock_workspace(p_workspace);
    n      integer;
    now_ts timestamptz := aanet_now();
begin
    cost := 0;
    if t.workspace_id is null or not t.gone then
        code := 'NOT_FOUND';
        return;
    end if;
    done := true;
    delete from activity x where x.workspace_id = p_workspace and x.seq in (
        select y.seq from activity y where y.workspace_id = p_workspace order by y.seq limit p_rows);
    get diagnostics n = row_count; done := done and n < p_rows;
    delete from messages x where x.workspace_id = p_workspace and x.ts in (
        select y.ts from messages y where y.workspace_id = p_workspace order by y.ts limit p_rows);
    get diagnostics n = row_count; done := done and n < p_rows;
    delete from file_chunks x where x.workspace_id = p_workspace and (x.path, x.seq) in (
        select y.path, y.seq from file_chunks y where y.workspace_id = p_workspace order by y.path, y.seq limit p_rows);
    get diagnostics n = row_count; done := done and n < p_rows;
    delete from files x where x.workspace_id = p_workspace and x.path in (
        select y.path from files y where y.workspace_id = p_workspace order by y.path limit p_rows);
    get diagnostics n = row_count; done := done and n < p_rows;
    delete from locks x where x.workspace_id = p_workspace and x.name in (
        select y.name from locks y where y.workspace_id = p_workspace order by y.name limit p_rows);
    get diagnostics n = row_count; done := done and n < p_rows;
    delete from keys x where x.workspace_id = p_workspace and x.key_hash in (
        select y.key_hash from keys y where y.workspace_id = p_workspace order by y.key_hash limit p_rows);
    get diagnostics n = row_count; done := done and n < p_rows;
    if done then
        update workspaces w set freed_at = now_ts, label = '' where w.workspace_id = p_workspace;
    end if;
end $$;
