-- Locks a workspace's row until the end of the transaction and returns its running totals;
-- all null when there is no such workspace. Every change of a tenant begins here, so that two
-- replicas which take workspaces in the order of their ids cannot deadlock.
create or replace function lock_workspace(p_workspace uuid) returns tally
language plpgsql as $$
declare
    t tally;
begin
    select workspace_id, trial_expires_at, blocked, deleted_at is not null,
           balance, granted, spent, owner_spent, seq, last_ts, refusal_tokens, refusal_at,
           delivery_spent, webhooks, low_at
      into t
      from workspaces where workspace_id = p_workspace for no key update;
    return t;
end $$;
