-- A key's holder as idempotency_keys names it: the owner has no id of its own.
create or replace function caller_of(p_subkey uuid) returns uuid
language sql immutable parallel safe as $$
    select coalesce(p_subkey, '00000000-0000-0000-0000-000000000000')
$$;
