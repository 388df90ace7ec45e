-- The workspace's events after a row of its log, oldest first, as far as the caller's scope and inbox
-- allow. At most 2,000 rows are looked at, so that a call's cost does not grow with the log.
-- p_after: null means the end of the log
-- p_prefix narrows the events of files, p_lock those of locks; null does not
-- p_mode: 0 answers and charges; 1 only when there is something to answer, else it waits free of charge;
-- 2 answers within time that is paid for, free and unlogged
-- next_after: where to go on; more: there are rows behind it now
-- Locks the workspace row. May refuse: admit's codes, INVALID_ARGUMENT (p_after is beyond the end), afford's codes.
create or replace function read_events(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_after bigint, p_types text[], p_prefix text, p_lock text, p_limit bigint, p_mode integer,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out waiting boolean, out next_after bigint, out more boolean, out subkey_id uuid,
    out seqs bigint[], out times timestamptz[], out types text[], out subkeys uuid[], out paths text[], out etags text[],
    out messages uuid[], out recipients uuid[])
language plpgsql as $$
declare
    a      admission := admit(p_workspace, p_key, p_want, p_guard);
    ends   bigint := (a.t).seq;
    starts bigint := coalesce(p_after, ends);
    upto   bigint := least(ends, starts + 2000);
begin
    waiting := false;
    subkey_id := a.subkey_id;
    if a.code is null and starts > ends then
        a.code := 'INVALID_ARGUMENT';
        a.info := jsonb_build_object('last_seq', ends);
    end if;
    if p_mode < 2 then
        a := afford(a, p_price);
    end if;
    if a.code is null then
        select coalesce(array_agg(e.seq order by e.seq), '{}'), coalesce(array_agg(e.ts order by e.seq), '{}'),
               coalesce(array_agg(event_of(e.operation) order by e.seq), '{}'), coalesce(array_agg(e.subkey_id order by e.seq), '{}'),
               coalesce(array_agg(e.path order by e.seq), '{}'), coalesce(array_agg(e.etag order by e.seq), '{}'),
               coalesce(array_agg(e.message_id order by e.seq), '{}'), coalesce(array_agg(e.recipient order by e.seq), '{}')
          into seqs, times, types, subkeys, paths, etags, messages, recipients
          from (select * from activity x
                 where x.workspace_id = p_workspace and x.seq > starts and x.seq <= upto and x.status = 'OK'
                   and event_of(x.operation) = any(p_types)
                   and case x.operation
                       when 'SEND_MESSAGE' then a.is_owner or x.recipient is null or x.recipient = a.subkey_id
                       when 'LOCK_RELEASE' then in_scope(a.scope, x.path) and (p_lock is null or x.path = p_lock)
                       else in_scope(a.scope, x.path) and in_scope(p_prefix, x.path)
                   end
                 order by x.seq limit p_limit) e;
        if cardinality(seqs) = p_limit then
            next_after := seqs[p_limit];
        else
            next_after := upto;
        end if;
        more := next_after < ends;
        if p_mode = 2 or p_mode = 1 and seqs = '{}' and not more then
            waiting := seqs = '{}';
            cost := 0;
            remaining := remaining(a);
            perform touch_key(a);
            return;
        elsif not more then
            next_after := a.seq; -- the row of this very call, which is no event
        end if;
    end if;
    a := settle(a, p_operation, null, p_price);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
