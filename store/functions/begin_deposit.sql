-- Writes down a payment that was claimed and is about to be verified. From here on the workspace cannot be
-- deleted until the deposit is decided. The same deposit again changes nothing. Locks the workspace row.
-- Returns in code: null, NOT_FOUND (admit_operator).
create or replace function begin_deposit(p_workspace uuid, p_deposit uuid, p_units bigint, p_network text, p_key text, p_payer text, p_payment jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    if a.code is null then
        insert into deposits (workspace_id, deposit_id, state, units, network, payment_key, payer, payment, created_at)
        values (p_workspace, p_deposit, 'received', p_units, p_network, p_key, p_payer, p_payment, a.ts)
        on conflict (workspace_id, deposit_id) do nothing;
    end if;
    code := a.code; cost := 0; remaining := (a.t).balance;
end $$;
