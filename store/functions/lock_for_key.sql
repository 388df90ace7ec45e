-- Locks the row of a workspace that has this key, and returns its running totals; all null when there is
-- none. One statement proves and locks: the condition is looked at before the row is locked, so a
-- stranger with a forged key locks nothing. A null key stands for the service itself.
create or replace function lock_for_key(p_workspace uuid, p_key bytea) returns tally
language plpgsql as $$
declare
    t tally;
begin
    select workspace_id, trial_expires_at, blocked, deleted_at is not null,
           balance, granted, spent, owner_spent, seq, last_ts, refusal_tokens, refusal_at,
           delivery_spent, webhooks, low_at
      into t
      from workspaces
     where workspace_id = p_workspace
       and (p_key is null
            or exists (select 1 from keys k where k.workspace_id = p_workspace and k.key_hash = p_key)
            or exists (select 1 from retired_keys k where k.workspace_id = p_workspace and k.key_hash = p_key))
       for no key update of workspaces;
    return t;
end $$;
