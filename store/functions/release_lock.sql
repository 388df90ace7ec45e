-- Frees a lock that the caller holds; free of charge, and allowed to the holder whatever its scope
-- has become meanwhile. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, SCOPE_DENIED, NOT_FOUND (nobody holds it), NOT_LOCK_HOLDER.
create or replace function release_lock(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_name text, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    l locks;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        select * into l from locks where workspace_id = p_workspace and name = p_name and held and lease_expires_at > a.ts;
        if l.name is not null and l.holder is not distinct from a.subkey_id then
            update locks k set held = false, holder = null, release_count = k.release_count + 1, last_released_at = a.ts
             where k.workspace_id = p_workspace and k.name = p_name;
        elsif not in_scope(a.scope, p_name) then
            a.code := 'SCOPE_DENIED';
        elsif l.name is null then
            a.code := 'NOT_FOUND';
        else
            a.code := 'NOT_LOCK_HOLDER';
        end if;
    end if;
    a := settle(a, p_operation, p_name, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array());
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
