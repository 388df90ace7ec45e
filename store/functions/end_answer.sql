-- Notes that an operation that begin_answer began has succeeded: its idempotency key is now taken.
-- Locks the workspace row. May refuse: admit's codes, without a row in the log, as the operation is done.
create or replace function end_answer(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if a.code is null then
        update idempotency_keys i set answer = '[]'
         where i.workspace_id = p_workspace and i.caller = caller_of(a.subkey_id) and i.once_key = p_once->>'key' and i.hash = p_once->>'hash';
        remaining := remaining(a);
    end if;
    code := a.code; info := a.info; cost := 0;
end $$;
