-- Notes that a sub-key was used, for calls that charge nothing: at most once a second, as last_used_at is
-- fresh to the second. The caller holds the workspace row.
create or replace function touch_key(a admission) returns void
language plpgsql as $$
begin
    if a.subkey_id is not null and (a.last_used_at is null or a.last_used_at < a.ts - interval '1 second') then
        update keys k set last_used_at = a.ts, era = a.era where k.workspace_id = (a.t).workspace_id and k.ctid = a.key_at;
    end if;
end $$;
