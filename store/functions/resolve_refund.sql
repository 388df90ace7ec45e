-- Ends a pending refund: p_to is paid (p_tx is the payout's transaction) or rejected, which gives the units back.
-- Locks the workspace row.
-- Returns in code: null; NOT_FOUND (no such refund, or its workspace is gone); CONFLICT with state and tx_hash
-- (it has ended already).
create or replace function resolve_refund(p_workspace uuid, p_refund uuid, p_to text, p_tx text, p_checked boolean, p_by text, p_reason text,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
    r refunds;
begin
    cost := 0;
    remaining := (a.t).balance;
    select * into r from refunds x where x.workspace_id = p_workspace and x.refund_id = p_refund;
    if a.code is not null or r.refund_id is null or p_to not in ('paid', 'rejected') then
        code := 'NOT_FOUND';
    elsif r.state <> 'pending' then
        code := 'CONFLICT';
        info := jsonb_build_object('state', r.state, 'tx_hash', r.tx_hash);
    else
        update refunds x
           set state = p_to, tx_hash = p_tx, checked = p_checked, reason = p_reason, resolved_by = p_by, resolved_at = a.ts
         where x.workspace_id = p_workspace and x.refund_id = p_refund;
        if p_to = 'rejected' then
            a.t.balance := (a.t).balance + r.units;
        end if;
        a := settle(a, 'REFUND', p_refund::text, 0,
            case p_to when 'paid' then 'paid: ' || p_tx else 'rejected, ' || r.units || ' units returned: ' || p_reason end);
        remaining := (a.t).balance;
    end if;
end $$;
