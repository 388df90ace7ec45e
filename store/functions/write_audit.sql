-- Writes down what an operator did, in the transaction that does it. p_act says who, why and from where (Act in
-- store/audit.go). Locks nothing.
create or replace function write_audit(p_act jsonb, p_at timestamptz, p_action text, p_kind text, p_subject text,
    p_workspace uuid, p_before jsonb, p_after jsonb) returns void
language plpgsql as $$
begin
    insert into operator_audit (audit_id, at, actor, operator_id, action, subject_kind, subject_id, workspace, reason, before, after, address)
    values ((p_act->>'id')::uuid, p_at, p_act->>'by', (p_act->>'operator')::uuid, p_action, p_kind, p_subject, p_workspace,
        p_act->>'reason', p_before, p_after, p_act->>'address');
end $$;
