-- Whether the caller holds a lock now, with that fencing token.
create or replace function holds_lock(a admission, p_name text, p_token bigint) returns boolean
language sql stable as $$
    select exists (
        select 1 from locks l
         where l.workspace_id = (a.t).workspace_id and l.name = p_name and l.held and l.holder is not distinct from a.subkey_id
           and l.fencing_token = p_token and l.lease_expires_at > a.ts)
$$;
