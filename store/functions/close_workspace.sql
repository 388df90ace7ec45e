-- Marks a workspace as gone and forfeits its balance with the closing entry p_closing.
-- The caller holds the workspace row; flush writes the totals. Returns them.
create or replace function close_workspace(t tally, p_closing uuid, p_reason text, p_now timestamptz) returns tally
language plpgsql as $$
begin
    if t.balance > 0 then
        insert into adjustments (workspace_id, adjustment_id, kind, units, reason, created_at)
        values (t.workspace_id, p_closing, 'forfeit', t.balance, p_reason, p_now);
    end if;
    update workspaces w set deleted_at = p_now where w.workspace_id = t.workspace_id;
    t.balance := 0;
    t.granted := 0;
    t.gone := true;
    perform set_config('aanet.tally', t::text, true);
    return t;
end $$;
