-- Sets the lease of a lock that the caller holds, counted from now: longer or shorter than before.
-- Locks the workspace row.
-- May refuse: admit's codes, SCOPE_DENIED, IDEMPOTENCY_CONFLICT, NOT_FOUND (nobody holds it), NOT_LOCK_HOLDER, afford's codes.
create or replace function renew_lock(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_name text, p_lease_seconds bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out lease_expires_at timestamptz, out fencing_token bigint)
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
        select * into l from locks where workspace_id = p_workspace and name = p_name and held and locks.lease_expires_at > a.ts;
        if l.name is null then
            a.code := 'NOT_FOUND';
        elsif l.holder is distinct from a.subkey_id then
            a.code := 'NOT_LOCK_HOLDER';
        end if;
        a := afford(a, p_price);
    end if;
    if a.code is null then
        lease_expires_at := a.ts + make_interval(secs => p_lease_seconds);
        fencing_token := l.fencing_token;
        update locks k set lease_expires_at = renew_lock.lease_expires_at where k.workspace_id = p_workspace and k.name = p_name;
    end if;
    a := settle(a, p_operation, p_name, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(lease_expires_at, fencing_token));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
