-- Whether a path or lock name lies within a key's scope, by whole segments. A null scope covers all.
create or replace function in_scope(p_scope text, p_name text) returns boolean
language sql immutable parallel safe as $$
    select p_scope is null or p_name = p_scope or starts_with(p_name, p_scope || '/')
$$;
