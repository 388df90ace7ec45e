-- What this key can still spend: the least of the workspace's balance, its own cap's rest and what its
-- spend limits leave for now. least() passes over nulls, greatest() would make 0 of one.
create or replace function remaining(a admission) returns bigint
language sql immutable as $$
    select least((a.t).balance, case when a.budget_cap is not null then greatest(a.budget_cap - a.key_spent, 0) end,
        case when a.window_left is not null then greatest(a.window_left, 0) end)
$$;
