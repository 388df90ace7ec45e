-- Writes down a payment that was claimed and is about to be verified. From here on the workspace cannot be
-- deleted until the deposit is decided. The same deposit again changes nothing. Locks the workspace row.
-- p_open_max: deposits of the workspace that may be undecided at a time.
-- Returns in code: null; NOT_FOUND (admit_operator); DEPOSIT_PENDING (p_open_max others are undecided).
create or replace function receive_deposit(p_workspace uuid, p_deposit uuid, p_units bigint, p_network text, p_key text, p_payer text, p_payment jsonb,
    p_open_max integer,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
begin
    code := a.code; cost := 0; remaining := (a.t).balance;
    if code is null and p_open_max <= (select count(*) from deposits d
        where d.workspace_id = p_workspace and d.state in ('received', 'settling', 'unknown') and d.deposit_id <> p_deposit)
    then
        code := 'DEPOSIT_PENDING';
    elsif code is null then
        insert into deposits (workspace_id, deposit_id, state, units, network, payment_key, payer, payment, created_at)
        values (p_workspace, p_deposit, 'received', p_units, p_network, p_key, p_payer, p_payment, a.ts)
        on conflict (workspace_id, deposit_id) do nothing;
    end if;
end $$;
