-- Ends a workspace's part of a batch: one UPDATE of its row for all the calls made in it.
-- The lane sends it after the last call of each workspace; admit refuses to begin with another one before.
create or replace function flush(p_workspace uuid) returns void
language plpgsql as $$
declare
    held text := current_setting('aanet.tally', true);
    n    tally;
    hour timestamptz;
begin
    if held is null or held = '' then
        return;
    end if;
    n := held::tally;
    if n.workspace_id <> p_workspace then
        raise exception 'flush of % while % is open', p_workspace, n.workspace_id;
    end if;
    hour := date_bin('1 hour', aanet_now(), 'epoch'); -- the roll-up finds the row by it
    update workspaces
       set balance = n.balance, granted = n.granted, spent = n.spent, owner_spent = n.owner_spent, blocked = n.blocked,
           seq = n.seq, last_ts = n.last_ts, refusal_tokens = n.refusal_tokens, refusal_at = n.refusal_at,
           delivery_spent = n.delivery_spent, webhooks = n.webhooks, low_at = n.low_at, changed_hour = hour
     where workspace_id = p_workspace;
    held := set_config('aanet.tally', '', true);
end $$;
