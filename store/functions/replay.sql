-- Looks whether a call repeats one that succeeded within 24 hours. p_once: {key, hash of operation and input,
-- made}, null when the caller gave no idempotency key. Returns in code: what was there; REPLAYED with the
-- first answer in info, which nothing after it may change or log; IDEMPOTENCY_CONFLICT. The caller holds the
-- workspace row, so a repeat of a call that is under way comes after it.
create or replace function replay(a admission, p_once jsonb) returns admission
language plpgsql stable as $$
declare
    k idempotency_keys;
begin
    if a.code is not null or p_once is null then
        return a;
    end if;
    select * into k from idempotency_keys i
     where i.workspace_id = (a.t).workspace_id and i.caller = caller_of(a.subkey_id) and i.once_key = p_once->>'key'
       and i.created_at > a.ts - interval '24 hours' and i.answer <> 'null'; -- null: begin_answer
    if k.once_key is null then
        return a;
    elsif k.hash <> p_once->>'hash' then
        a.code := 'IDEMPOTENCY_CONFLICT';
    else
        a.code := 'REPLAYED';
        a.info := jsonb_build_object('answer', k.answer, 'made', k.made);
    end if;
    return a;
end $$;
