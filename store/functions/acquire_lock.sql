-- Takes a lock, or renews it for the key that holds it (reacquired, same token). A lease that has
-- run out is nobody's; every new holder gets the next fencing token of that name. While others wait
-- for the lock it is theirs first (wait_for_lock). Locks the workspace row.
-- May refuse: admit's codes, SCOPE_DENIED, IDEMPOTENCY_CONFLICT, LOCK_HELD (holder_subkey_id, lease_expires_at; reserved), afford's codes.
create or replace function acquire_lock(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_name text, p_lease_seconds bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out lease_expires_at timestamptz, out fencing_token bigint, out reacquired boolean)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    l locks;
begin
    if a.code is null and not in_scope(a.scope, p_name) then
        a.code := 'SCOPE_DENIED';
    elsif p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        select * into l from locks where workspace_id = p_workspace and name = p_name;
        reacquired := coalesce(l.held and l.lease_expires_at > a.ts, false);
        if not reacquired and l.waiters > 0 then
            l := reserve_lock(l, a.ts);
        end if;
        if reacquired and l.holder is distinct from a.subkey_id or not reacquired and l.waiters > 0 and l.reserved_for is not null then
            a.code := 'LOCK_HELD';
            a.info := lock_held(l, reacquired);
        end if;
        a := afford(a, p_price);
    end if;
    if a.code is null then
        lease_expires_at := a.ts + make_interval(secs => p_lease_seconds);
        fencing_token := coalesce(l.fencing_token, 0) + case when reacquired then 0 else 1 end;
        if l.name is null then
            insert into locks (workspace_id, name, held, holder, lease_expires_at, fencing_token, acquire_count, last_holder, last_acquired_at)
            values (p_workspace, p_name, true, a.subkey_id, lease_expires_at, fencing_token, 1, a.subkey_id, a.ts);
        else
            update locks k
               set held = true, holder = a.subkey_id, lease_expires_at = acquire_lock.lease_expires_at, fencing_token = acquire_lock.fencing_token,
                   reserved_for = null, acquire_count = k.acquire_count + 1, last_holder = a.subkey_id, last_acquired_at = a.ts
             where k.workspace_id = p_workspace and k.name = p_name;
        end if;
    end if;
    a := settle(a, p_operation, p_name, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(lease_expires_at, fencing_token, reacquired));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
