-- Sends a message to one sub-key, or to everybody when p_recipient is null.
-- ts is unique and rises in commit order, since it is given while the workspace row is locked.
-- Locks the workspace row.
-- May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND (no such sub-key here), SUBKEY_REVOKED, afford's codes.
create or replace function send_message(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_message uuid, p_body text, p_recipient uuid, p_topic text, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out ts timestamptz)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    r keys;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null and p_recipient is not null then
        select * into r from keys where workspace_id = p_workspace and subkey_id = p_recipient;
        if r.subkey_id is null then
            a.code := 'NOT_FOUND';
        elsif r.revoked_at is not null then
            a.code := 'SUBKEY_REVOKED';
        end if;
    end if;
    a := afford(a, p_price);
    if a.code is null then
        ts := a.ts;
        insert into messages (workspace_id, ts, message_id, sender, recipient, topic, body)
        values (p_workspace, ts, p_message, a.subkey_id, p_recipient, p_topic, p_body);
    end if;
    a := settle(a, p_operation, p_topic, p_price, p_message => case when a.code is null then p_message end, p_recipient => p_recipient);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(ts));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
