-- What this key can still spend: the lesser of the workspace's balance and its own cap's rest.
create or replace function remaining(a admission) returns bigint
language sql immutable as $$
    select least((a.t).balance, greatest(a.budget_cap - a.key_spent, 0))
$$;
