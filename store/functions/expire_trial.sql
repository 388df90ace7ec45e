-- Ends a trial whose time is over, as delete_workspace does. Locks the workspace row.
-- Returns in code: null, NOT_FOUND (gone already, or not a trial whose time is over).
create or replace function expire_trial(p_workspace uuid, p_closing uuid,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    cost := 0;
    -- admit_operator refuses such a trial to everybody else, so its code does not decide here
    if (a.t).trial_expires_at is null or (a.t).trial_expires_at > a.ts or (a.t).gone then
        code := 'NOT_FOUND';
    else
        a.t := close_workspace(a.t, p_closing, 'trial expired', a.ts);
    end if;
end $$;
