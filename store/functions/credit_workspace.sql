-- The operator's credit: adds units with a reason. The same p_adjustment credits once.
-- A trial's credit is never refundable. Locks the workspace row.
-- Returns in code: null, NOT_FOUND (no such workspace, or it is gone).
create or replace function credit_workspace(p_workspace uuid, p_adjustment uuid, p_units bigint, p_refundable boolean, p_reason text,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    if a.code is null and not exists (
        select 1 from adjustments d where d.workspace_id = p_workspace and d.adjustment_id = p_adjustment)
    then
        p_refundable := p_refundable and (a.t).trial_expires_at is null;
        insert into adjustments (workspace_id, adjustment_id, kind, units, refundable, reason, created_at)
        values (p_workspace, p_adjustment, 'credit', p_units, p_refundable, p_reason, a.ts);
        a.t.balance := (a.t).balance + p_units;
        if not p_refundable then
            a.t.granted := (a.t).granted + p_units;
        end if;
        a := settle(a, 'ADJUSTMENT', p_adjustment::text, 0, p_units || ' units: ' || p_reason);
    end if;
    code := a.code; cost := 0; remaining := (a.t).balance;
end $$;
