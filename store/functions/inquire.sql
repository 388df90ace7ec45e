-- A free read: proves the caller and tells who and what it is. A success leaves no row; a refusal does.
-- p_once: for operations of several steps,
-- whether the whole was done before (functions/replay.sql). Locks the workspace row. May refuse: admit's codes, IDEMPOTENCY_CONFLICT.
create or replace function inquire(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_path text, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out label text, out created_at timestamptz, out trial_expires_at timestamptz, out blocked boolean, out balance bigint, out spent bigint,
    out subkey_id uuid, out key_label text, out scope text, out budget_cap bigint, out key_spent bigint, out now_ts timestamptz,
    out per_hour bigint, out per_day bigint, out window_left bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        select w.label, w.created_at into label, created_at from workspaces w where w.workspace_id = p_workspace;
        trial_expires_at := (a.t).trial_expires_at; blocked := (a.t).blocked;
        balance := (a.t).balance; spent := (a.t).spent;
        subkey_id := a.subkey_id; key_label := a.key_label; scope := a.scope; budget_cap := a.budget_cap; now_ts := a.ts;
        key_spent := case when a.is_owner then (a.t).owner_spent else a.key_spent end;
        per_hour := (a.limits).per_hour; per_day := (a.limits).per_day; window_left := case when a.window_left is not null then greatest(a.window_left, 0) end;
        a.cost := 0;
        a.remaining := remaining(a);
        if a.subkey_id is not null then
            perform touch_key(a);
        end if;
    else
        a := settle(a, p_operation, p_path, 0);
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
