-- The operator's decision about a deposit that is unknown: p_to is credited (p_tx is the payment's transaction) or
-- failed. Locks the workspace row. Writes the audit log.
-- Returns what move_deposit does.
create or replace function operator_deposit(p_workspace uuid, p_deposit uuid, p_to text, p_tx text, p_act jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
    d deposits;
begin
    select * into d from deposits x where x.workspace_id = p_workspace and x.deposit_id = p_deposit;
    select m.code, m.info, m.cost, m.remaining into code, info, cost, remaining
      from move_deposit(p_workspace, p_deposit, p_to, null, null, p_tx, 'operator', p_act->>'reason') m;
    if code is null then
        perform write_audit(p_act, a.ts, case p_to when 'credited' then 'deposit.credit' else 'deposit.fail' end,
            'deposit', p_deposit::text, p_workspace, jsonb_build_object('state', d.state, 'balance', (a.t).balance),
            jsonb_build_object('state', p_to, 'balance', remaining, 'units', d.units, 'network', d.network, 'payer', d.payer, 'tx_hash', p_tx));
    end if;
end $$;
