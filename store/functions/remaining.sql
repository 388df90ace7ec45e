-- What this key can still spend: the lesser of the workspace's balance and its own cap's rest.
-- Without a cap it is the balance: greatest() would make 0 of the null.
create or replace function remaining(a admission) returns bigint
language sql immutable as $$
    select case when a.budget_cap is null then (a.t).balance else least((a.t).balance, greatest(a.budget_cap - a.key_spent, 0)) end
$$;
