-- Makes a workspace with its owner key; a trial (p_trial_ttl is given) starts with p_grant units and
-- expires exactly p_trial_ttl after it was created. Locks nothing that exists. Never refuses.
create or replace function create_workspace(p_workspace uuid, p_label text, p_key bytea, p_last4 text,
    p_trial_ttl interval, p_grant bigint, p_grant_id uuid,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out created_at timestamptz, out trial_expires_at timestamptz)
language plpgsql as $$
begin
    cost := 0;
    remaining := p_grant;
    created_at := aanet_now();
    trial_expires_at := created_at + p_trial_ttl;
    insert into workspaces (workspace_id, label, created_at, trial_expires_at, balance, granted, seq, last_ts, refusal_at, changed_hour)
    values (p_workspace, p_label, created_at, trial_expires_at, p_grant, p_grant, 1, created_at, created_at, date_bin('1 hour', created_at, 'epoch'));
    insert into keys (workspace_id, key_hash, last4, label, minted_seq, created_at)
    values (p_workspace, p_key, p_last4, '', 1, created_at);
    insert into activity (workspace_id, seq, ts, operation) values (p_workspace, 1, created_at, 'CREATE_WORKSPACE');
    if p_grant > 0 then
        insert into adjustments (workspace_id, adjustment_id, kind, units, reason, created_at)
        values (p_workspace, p_grant_id, 'trial_grant', p_grant, 'trial', created_at);
    end if;
end $$;
