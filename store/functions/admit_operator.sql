-- The first step of a call that the service or its operator makes for a workspace: no key, no log row
-- for a refusal. Locks the workspace row. Returns in code: null, NOT_FOUND (no such workspace, it is
-- gone, or it is a trial whose time is over). The totals and ts are set in every case.
create or replace function admit_operator(p_workspace uuid) returns admission
language plpgsql as $$
declare
    a    admission;
    held text := current_setting('aanet.tally', true);
begin
    if held <> '' then
        a.t := held::tally;
        if (a.t).workspace_id <> p_workspace then
            raise exception 'workspace % was not flushed before a call of another', (a.t).workspace_id;
        end if;
    else
        a.t := lock_workspace(p_workspace);
    end if;
    a.ts := greatest(aanet_now(), (a.t).last_ts + interval '1 microsecond');
    if (a.t).workspace_id is null or (a.t).gone or (a.t).trial_expires_at <= a.ts then
        a.code := 'NOT_FOUND';
        return a;
    end if;
    a.is_owner := false;
    a.seq := (a.t).seq + 1;
    return a;
end $$;
