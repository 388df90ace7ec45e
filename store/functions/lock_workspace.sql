-- Locks a workspace's row until the end of the transaction and returns its running totals;
-- all null when there is no such workspace. Every change of a tenant begins here, so that two
-- replicas which take workspaces in the order of their ids cannot deadlock.
create or replace function lock_workspace(p_workspace uuid) returns tally
language sql as $$
    select lock_for_key(p_workspace, null)
$$;
