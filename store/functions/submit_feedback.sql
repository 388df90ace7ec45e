-- Keeps feedback for the operator; it outlives the workspace. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT.
create or replace function submit_feedback(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_feedback uuid, p_category text, p_title text, p_description text, p_pledge text, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        insert into feedback (workspace_id, feedback_id, subkey_id, category, title, description, pledged_budget_usd, created_at)
        values (p_workspace, p_feedback, a.subkey_id, p_category, p_title, p_description, p_pledge::numeric, a.ts);
    end if;
    a := settle(a, p_operation, case when a.code is null then p_feedback::text end, 0);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array());
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
