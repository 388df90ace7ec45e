-- Makes a sub-key. p_limit: how many a workspace may have. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, SUBKEY_LIMIT.
create or replace function mint_subkey(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_subkey uuid, p_hash bytea, p_last4 text, p_label text, p_scope text, p_cap bigint,
    p_per_hour bigint, p_per_day bigint, p_limit bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null and (select count(*) from keys k where k.workspace_id = p_workspace and k.subkey_id is not null) >= p_limit then
        a.code := 'SUBKEY_LIMIT';
    end if;
    if a.code is null then
        insert into keys (workspace_id, key_hash, subkey_id, last4, label, scope, budget_cap, limits, minted_seq, created_at)
        values (p_workspace, p_hash, p_subkey, p_last4, p_label, p_scope, p_cap,
                case when coalesce(p_per_hour, p_per_day) is not null then row(p_per_hour, null, null, p_per_day, null, null)::spend_limits end, a.seq, a.ts);
    end if;
    a := settle(a, p_operation, case when a.code is null then p_subkey::text end, 0);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array());
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
