-- Tells the state and history of a lock name. Free when the name was never held.
-- Locks the workspace row. May refuse: admit's codes, SCOPE_DENIED, afford's codes.
create or replace function get_lock_status(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_name text,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out status text, out holder uuid, out lease_expires_at timestamptz, out fencing_token bigint, out last_holder uuid,
    out last_acquired_at timestamptz, out last_released_at timestamptz, out acquire_count bigint, out release_count bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    l     locks;
    price bigint := 0::bigint;
begin
    if a.code is null and not in_scope(a.scope, p_name) then
        a.code := 'SCOPE_DENIED';
    elsif a.code is null then
        select * into l from locks k where k.workspace_id = p_workspace and k.name = p_name;
        if l.name is not null then
            price := p_price;
        end if;
        a := afford(a, price);
    end if;
    if a.code is null then
        status := case when l.name is null then 'never_held' when not l.held then 'free'
                       when l.lease_expires_at > a.ts then 'held' else 'expired' end;
        holder := case when status = 'held' then l.holder end;
        lease_expires_at := case when l.held then l.lease_expires_at end;
        fencing_token := l.fencing_token;
        last_holder := l.last_holder;
        last_acquired_at := l.last_acquired_at;
        last_released_at := l.last_released_at;
        acquire_count := coalesce(l.acquire_count, 0);
        release_count := coalesce(l.release_count, 0);
    end if;
    a := settle(a, p_operation, p_name, price);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
