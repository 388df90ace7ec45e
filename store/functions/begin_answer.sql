-- Notes that an operation of several steps begins under an idempotency key, so that a repeat can be told from
-- another caller of the same thing. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT (another call succeeded under this key within 24 hours).
-- begun tells since when a call with this key and input may be under way or done, this one included.
create or replace function begin_answer(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out begun timestamptz)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    k idempotency_keys;
begin
    if a.code is null then
        select * into k from idempotency_keys i
         where i.workspace_id = p_workspace and i.caller = caller_of(a.subkey_id) and i.once_key = p_once->>'key'
           and i.created_at > a.ts - interval '24 hours';
        if k.hash = p_once->>'hash' then
            begun := k.created_at;
        elsif k.answer <> 'null' then
            a.code := 'IDEMPOTENCY_CONFLICT';
        end if;
    end if;
    if a.code is not null then
        a := settle(a, p_operation, null, p_price);
    else
        if begun is null then
            begun := a.ts;
            perform keep(a, p_once, 'null');
        end if;
        a.cost := 0;
        a.remaining := remaining(a);
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
