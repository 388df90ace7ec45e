-- Ends a pending refund: p_to is paid (p_tx is the payout's transaction) or rejected, which gives the units back.
-- Locks the workspace row. Writes the audit log.
-- Returns in code: null; NOT_FOUND (no such refund, or its workspace is gone); CONFLICT with state and tx_hash
-- (it has ended already).
create or replace function operator_refund(p_workspace uuid, p_refund uuid, p_to text, p_tx text, p_checked boolean, p_act jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
    r refunds;
    why text := case when p_to = 'rejected' then p_act->>'reason' end;
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
           set state = p_to, tx_hash = p_tx, checked = p_checked, reason = why, resolved_by = 'operator', resolved_at = a.ts
         where x.workspace_id = p_workspace and x.refund_id = p_refund;
        perform write_audit(p_act, a.ts, case p_to when 'paid' then 'refund.pay' else 'refund.reject' end,
            'refund', p_refund::text, p_workspace, jsonb_build_object('state', r.state, 'balance', (a.t).balance),
            jsonb_build_object('state', p_to, 'balance', (a.t).balance + case p_to when 'rejected' then r.units else 0 end,
                'units', r.units, 'fee', r.fee, 'network', r.network, 'destination', r.destination, 'tx_hash', p_tx, 'checked', p_checked));
        if p_to = 'rejected' then
            a.t.balance := (a.t).balance + r.units;
        end if;
        a := settle(a, 'REFUND', p_refund::text, 0,
            case p_to when 'paid' then 'paid: ' || p_tx else 'rejected, ' || r.units || ' units returned: ' || why end);
        remaining := (a.t).balance;
    end if;
end $$;
