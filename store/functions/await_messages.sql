-- get_messages for a call that may wait: with p_wait it answers only when there is a message, and else
-- (waiting) nothing is charged or logged. A call that could not be paid is refused before it waits.
-- Locks the workspace row. May refuse: admit's codes, afford's codes.
create or replace function await_messages(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_since timestamptz, p_topic text, p_limit bigint, p_wait boolean,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out ids uuid[], out times timestamptz[], out senders uuid[], out recipients uuid[], out topics text[], out bodies text[],
    out waiting boolean, out subkey_id uuid)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    waiting := false;
    subkey_id := a.subkey_id;
    a := afford(a, p_price);
    if a.code is null then
        select coalesce(array_agg(f.message_id order by f.ts), '{}'), coalesce(array_agg(f.ts order by f.ts), '{}'),
               coalesce(array_agg(f.sender order by f.ts), '{}'), coalesce(array_agg(f.recipient order by f.ts), '{}'),
               coalesce(array_agg(f.topic order by f.ts), '{}'), coalesce(array_agg(f.body order by f.ts), '{}')
          into ids, times, senders, recipients, topics, bodies
          from inbox(p_workspace, a.is_owner, a.subkey_id, coalesce(p_since, '-infinity'), p_topic, p_limit) f;
        if p_wait and ids = '{}' then
            waiting := true;
            cost := 0;
            remaining := remaining(a);
            perform touch_key(a);
            return;
        end if;
    end if;
    a := settle(a, p_operation, p_topic, p_price);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
