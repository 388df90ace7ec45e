-- The operator's credit: adds units with a reason, and writes the audit log. The same p_adjustment credits once.
-- A trial's credit is never refundable. Locks the workspace row.
-- Returns in code: null; NOT_FOUND (admit_operator); CONFLICT (p_adjustment was another credit);
-- CREDIT_LIMIT (p_units or the balance after it is not within 1..2^53-1, which every client can read).
create or replace function operator_credit(p_workspace uuid, p_adjustment uuid, p_units bigint, p_refundable boolean, p_act jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a     admission := admit_operator(p_workspace);
    upto  constant bigint := 9007199254740991;
    found_units bigint;
begin
    if a.code is null then
        select d.units into found_units from adjustments d where d.workspace_id = p_workspace and d.adjustment_id = p_adjustment;
    end if;
    if a.code is not null then
        null;
    elsif found_units is not null then
        a.code := case when found_units <> p_units then 'CONFLICT' end;
    elsif p_units not between 1 and upto or (a.t).balance > upto - p_units then
        a.code := 'CREDIT_LIMIT';
    else
        p_refundable := p_refundable and (a.t).trial_expires_at is null;
        insert into adjustments (workspace_id, adjustment_id, kind, units, refundable, reason, created_at)
        values (p_workspace, p_adjustment, 'credit', p_units, p_refundable, p_act->>'reason', a.ts);
        perform write_audit(p_act, a.ts, 'workspace.credit', 'workspace', p_workspace::text, p_workspace,
            jsonb_build_object('balance', (a.t).balance),
            jsonb_build_object('balance', (a.t).balance + p_units, 'units', p_units, 'refundable', p_refundable, 'adjustment', p_adjustment));
        a.t.balance := (a.t).balance + p_units;
        if not p_refundable then
            a.t.granted := (a.t).granted + p_units;
        end if;
        a := settle(a, 'ADJUSTMENT', p_adjustment::text, 0, p_units || ' units: ' || (p_act->>'reason'));
    end if;
    code := a.code; cost := 0; remaining := (a.t).balance;
end $$;
