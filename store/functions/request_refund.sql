-- Reserves all that can be refunded: the balance without the part that an operator granted as not refundable.
-- The money leaves the balance at once; a payout or a rejection decides later (operator_refund).
-- p_fee: what is kept of a payout, in units. Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT; NOTHING_TO_REFUND with refundable and fee, in units, when nothing would be paid out.
create or replace function request_refund(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_refund uuid, p_network text, p_destination text, p_fee bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out units bigint, out stays bigint, out requested_at timestamptz)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    units := (a.t).balance - (a.t).granted;
    stays := (a.t).granted;
    requested_at := a.ts;
    if a.code is null and units <= p_fee then
        a.code := 'NOTHING_TO_REFUND';
        a.info := jsonb_build_object('refundable', units, 'fee', p_fee);
    elsif a.code is null then
        insert into refunds (workspace_id, refund_id, state, units, fee, stays, network, destination, requested_at)
        values (p_workspace, p_refund, 'pending', units, p_fee, stays, p_network, p_destination, a.ts);
        a.t.balance := stays;
    end if;
    a := settle(a, p_operation, case when a.code is null then p_refund::text end, 0, case when a.code is null then units || ' units reserved' end);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(units, stays, requested_at));
    end if;
    code := a.code; info := a.info; cost := a.cost;
    remaining := case when code is null then remaining(a) else a.remaining end;
end $$;
