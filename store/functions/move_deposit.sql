-- Moves a deposit on. These are all the moves there are:
--   received → settling   a facilitator is about to be asked to settle it; committed before it is
--   unknown  → settling   it is about to be asked again: the chain shows that nothing was paid yet
--   settling → unknown    no clean success came back, or whoever asked is gone
--   settling, unknown → credited   balance, row and log row in one
--   unknown  → failed     it can never be paid any more, or the operator says so
--   received, settling → dropped   certainly nothing was sent: the row goes, and the payment may come again
-- p_attempt: the settle that the caller speaks of (null: any); what comes late about an earlier one is refused.
-- Credited twice is credited once and no refusal, except to the operator. Locks the workspace row.
-- Returns in code: null; NOT_FOUND (no such deposit, or its workspace is gone); CONFLICT (not from this state,
-- or another attempt). state, attempt and tx are the deposit's after the call, also with CONFLICT.
create or replace function move_deposit(p_workspace uuid, p_deposit uuid, p_to text, p_attempt integer,
    p_facilitator text, p_tx text, p_by text, p_reason text,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a     admission := admit_operator(p_workspace);
    d     deposits;
    moves constant text[] := array['received>settling', 'unknown>settling', 'settling>unknown', 'settling>credited',
        'unknown>credited', 'unknown>failed', 'received>dropped', 'settling>dropped'];
begin
    cost := 0;
    remaining := (a.t).balance;
    select * into d from deposits x where x.workspace_id = p_workspace and x.deposit_id = p_deposit;
    if a.code is not null or d.deposit_id is null then
        code := 'NOT_FOUND';
    elsif d.state = 'credited' and p_to = 'credited' and p_by <> 'operator' then
        null;
    elsif d.state || '>' || p_to <> all (moves) or p_to <> 'credited' and d.attempt <> p_attempt then
        code := 'CONFLICT';
    elsif p_to = 'dropped' then
        delete from deposits x where x.workspace_id = p_workspace and x.deposit_id = p_deposit;
    else
        update deposits x
           set state = p_to, reason = p_reason, tx_hash = coalesce(p_tx, x.tx_hash),
               facilitator = coalesce(p_facilitator, x.facilitator),
               attempt = x.attempt + case when p_to = 'settling' then 1 else 0 end,
               settling_at = case when p_to = 'settling' then a.ts else x.settling_at end,
               resolved_at = case when p_to in ('credited', 'failed') then a.ts end,
               resolved_by = case when p_to in ('credited', 'failed') then p_by end
         where x.workspace_id = p_workspace and x.deposit_id = p_deposit;
        if p_to = 'credited' then
            a.t.balance := (a.t).balance + d.units;
            a := settle(a, 'DEPOSIT', p_deposit::text, 0, d.units || ' units, ' || d.network || ' ' || coalesce(p_tx, d.tx_hash));
        elsif p_to = 'failed' then
            a.code := 'PAYMENT_INVALID'; -- for the log row alone
            a := settle(a, 'DEPOSIT', p_deposit::text, 0, p_reason);
        end if;
        remaining := (a.t).balance;
    end if;
    if code = 'CONFLICT' then
        info := jsonb_build_object('state', d.state, 'attempt', d.attempt, 'tx_hash', d.tx_hash);
    end if;
end $$;
