-- Ends a trial whose time is over, as delete_workspace does. Locks the workspace row.
-- Returns in code: null, NOT_FOUND (gone already, or not an expired trial).
create or replace function expire_trial(p_workspace uuid, p_closing uuid,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    cost := 0;
    if a.code is null and ((a.t).trial_expires_at is null or (a.t).trial_expires_at > a.ts) then
        a.code := 'NOT_FOUND';
    elsif a.code is null then
        a.t := close_workspace(a.t, p_closing, 'trial expired', a.ts);
    end if;
    code := a.code;
end $$;
