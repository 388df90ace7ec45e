-- Warns the webhooks whose mark the balance fell below, each once, by a log row that is the event. It is a
-- further row of the call that settle has just written. The caller holds the workspace row.
create or replace function warn_low(a admission) returns admission
language plpgsql as $$
declare
    spent   constant bigint := a.cost;
    balance constant bigint := (a.t).balance;
    w       record;
begin
    a.t.low_at := null; -- the rows written here warn nobody
    for w in
        select h.webhook_id, h.balance_low_units as mark from webhooks h
         where h.workspace_id = (a.t).workspace_id and h.active and h.low_armed and h.balance_low_units > balance order by h.created_seq
    loop
        update webhooks h set low_armed = false where h.workspace_id = (a.t).workspace_id and h.webhook_id = w.webhook_id;
        a := settle(a, 'BALANCE_LOW', w.webhook_id::text, 0, 'the balance fell below ' || w.mark || ' units', balance || '/' || w.mark);
    end loop;
    a.t.low_at := arm_low((a.t).workspace_id, balance);
    perform set_config('aanet.tally', (a.t)::text, true);
    a.cost := spent;
    return a;
end $$;
