-- Makes those webhooks ready to warn of a low balance whose mark it has reached again. Returns the highest
-- mark of all that are ready; null: none is. The caller holds the workspace row.
create or replace function arm_low(p_workspace uuid, p_balance bigint) returns bigint
language plpgsql as $$
begin
    update webhooks h set low_armed = true
     where h.workspace_id = p_workspace and not h.low_armed and h.balance_low_units <= p_balance and h.deleted_at is null;
    return (select max(h.balance_low_units) from webhooks h where h.workspace_id = p_workspace and h.active and h.low_armed);
end $$;
