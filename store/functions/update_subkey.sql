-- Changes a sub-key's scope or cap; null leaves a field as it is. It binds from the very next call.
-- Locks the workspace row. May refuse: admit's codes, NOT_FOUND, SUBKEY_REVOKED.
create or replace function update_subkey(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_subkey uuid, p_scope text, p_cap bigint,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out label text, out scope text, out budget_cap bigint, out spent bigint, out created_at timestamptz, out last_used_at timestamptz)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    k keys;
begin
    if a.code is null then
        select * into k from keys where workspace_id = p_workspace and keys.subkey_id = p_subkey;
        if k.subkey_id is null then
            a.code := 'NOT_FOUND';
        elsif k.revoked_at is not null then
            a.code := 'SUBKEY_REVOKED';
        end if;
    end if;
    if a.code is null then
        k.scope := coalesce(p_scope, k.scope);
        k.budget_cap := coalesce(p_cap, k.budget_cap);
        update keys u set scope = k.scope, budget_cap = k.budget_cap where u.workspace_id = p_workspace and u.subkey_id = p_subkey;
        label := k.label; scope := k.scope; budget_cap := k.budget_cap; spent := k.spent; created_at := k.created_at; last_used_at := k.last_used_at;
    end if;
    a := settle(a, p_operation, nullif(p_subkey, '00000000-0000-0000-0000-000000000000')::text, 0);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
