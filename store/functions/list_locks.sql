-- One page of the locks that are held now, by name, within the caller's scope.
-- Locks the workspace row. May refuse: admit's codes, afford's codes.
create or replace function list_locks(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_after text, p_limit bigint,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out names text[], out holders uuid[], out leases timestamptz[], out tokens bigint[])
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    a := afford(a, p_price);
    if a.code is null then
        select coalesce(array_agg(h.name order by h.name), '{}'), coalesce(array_agg(h.holder order by h.name), '{}'),
               coalesce(array_agg(h.lease_expires_at order by h.name), '{}'), coalesce(array_agg(h.fencing_token order by h.name), '{}')
          into names, holders, leases, tokens
          from (select k.name, k.holder, k.lease_expires_at, k.fencing_token from locks k
                 where k.workspace_id = p_workspace and k.held and k.lease_expires_at > a.ts
                   and (p_after is null or k.name > p_after)
                   and (a.scope is null or k.name >= a.scope and k.name < a.scope || '0' and in_scope(a.scope, k.name))
                 order by k.name limit p_limit) h;
    end if;
    a := settle(a, p_operation, null, p_price);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
