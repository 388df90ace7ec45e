-- Keeps a call's answer for its repeats (replay), when it succeeded and came with an idempotency key.
-- A row that is there already is older than 24 hours. The caller holds the workspace row.
create or replace function keep(a admission, p_once jsonb, p_answer jsonb) returns void
language plpgsql as $$
begin
    if a.code is not null or p_once is null then
        return;
    end if;
    insert into idempotency_keys as i (workspace_id, caller, once_key, hash, answer, made, created_at)
    values ((a.t).workspace_id, caller_of(a.subkey_id), p_once->>'key', p_once->>'hash', p_answer, p_once->>'made', a.ts)
    on conflict (workspace_id, caller, once_key) do update
       set hash = excluded.hash, answer = excluded.answer, made = excluded.made, created_at = excluded.created_at;
end $$;
