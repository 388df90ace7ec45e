-- Changes a sub-key's scope, cap and spend limits; null leaves a field as it is, p_clear names those that
-- are no longer to be. A limit that is new counts from now on. It all binds from the very next call.
-- Locks the workspace row. May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND, SUBKEY_REVOKED.
create or replace function update_subkey(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_subkey uuid, p_scope text, p_cap bigint, p_per_hour bigint, p_per_day bigint, p_clear text[], p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out label text, out scope text, out budget_cap bigint, out spent bigint, out created_at timestamptz, out last_used_at timestamptz,
    out per_hour bigint, out per_day bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    k keys;
    l spend_limits;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        select * into k from keys where workspace_id = p_workspace and keys.subkey_id = p_subkey;
        if k.subkey_id is null then
            a.code := 'NOT_FOUND';
        elsif k.revoked_at is not null then
            a.code := 'SUBKEY_REVOKED';
        end if;
    end if;
    if a.code is null then
        l := k.limits;
        scope := case when 'path_scope_prefix' = any(p_clear) then null else coalesce(p_scope, k.scope) end;
        budget_cap := case when 'budget_cap' = any(p_clear) then null else coalesce(p_cap, k.budget_cap) end;
        per_hour := case when 'spend_limit_per_hour' = any(p_clear) then null else coalesce(p_per_hour, l.per_hour) end;
        per_day := case when 'spend_limit_per_day' = any(p_clear) then null else coalesce(p_per_day, l.per_day) end;
        l := row(per_hour, case when per_hour > 0 then l.hour_slot end, case when per_hour > 0 then l.hour_spent end,
            per_day, case when per_day > 0 then l.day_slot end, case when per_day > 0 then l.day_spent end)::spend_limits;
        update keys u set scope = update_subkey.scope, budget_cap = update_subkey.budget_cap, limits = case when not (l is null) then l end
         where u.workspace_id = p_workspace and u.subkey_id = p_subkey;
        label := k.label; spent := k.spent; created_at := k.created_at; last_used_at := k.last_used_at;
    end if;
    a := settle(a, p_operation, nullif(p_subkey, '00000000-0000-0000-0000-000000000000')::text, 0);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(label, scope, budget_cap, spent, created_at, last_used_at, per_hour, per_day));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
