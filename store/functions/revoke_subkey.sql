-- Revokes a sub-key and frees the locks it holds, each with a row of its own. Again is a success
-- that changes nothing. Locks the workspace row. May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND.
create or replace function revoke_subkey(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_subkey uuid, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out released text[])
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    k  keys;
    nm text;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    released := '{}';
    if a.code is null then
        select * into k from keys where workspace_id = p_workspace and keys.subkey_id = p_subkey;
        if k.subkey_id is null then
            a.code := 'NOT_FOUND';
        end if;
    end if;
    if a.code is null and k.revoked_at is null then
        update keys u set revoked_at = a.ts where u.workspace_id = p_workspace and u.subkey_id = p_subkey;
        select coalesce(array_agg(l.name order by l.name), '{}') into released
          from locks l where l.workspace_id = p_workspace and l.held and l.holder = p_subkey and l.lease_expires_at > a.ts;
    end if;
    a := settle(a, p_operation, nullif(p_subkey, '00000000-0000-0000-0000-000000000000')::text, 0);
    foreach nm in array released loop
        update locks l set held = false, holder = null, release_count = l.release_count + 1, last_released_at = a.ts
         where l.workspace_id = p_workspace and l.name = nm;
        a := settle(a, 'LOCK_RELEASE', nm, 0, 'its holder was revoked: ' || p_subkey::text);
    end loop;
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(released));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
