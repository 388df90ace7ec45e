-- Frees up to p_rows answers that are no longer kept for repeats (functions/replay.sql). Locks the workspace row.
-- Returns in code: null, NOT_FOUND (the workspace is gone: free_workspace frees them).
create or replace function tidy_answers(p_workspace uuid, p_rows integer,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    cost := 0;
    code := a.code;
    if code is null then
        delete from idempotency_keys x where x.workspace_id = p_workspace and x.created_at <= a.ts - interval '24 hours' and (x.caller, x.once_key) in (
            select y.caller, y.once_key from idempotency_keys y
             where y.workspace_id = p_workspace and y.created_at <= a.ts - interval '24 hours' limit p_rows);
    end if;
end $$;
