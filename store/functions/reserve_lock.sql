-- Finds whose turn it is to take a lock that is free: the lowest living ticket, for one second; when it
-- is not used within that, the next. A ticket lives while its replica beats; none is as old as two
-- minutes. The caller holds the workspace row.
-- Returns the lock's row; reserved_for is null when nobody who lives waits, or all had their second:
-- then whoever looks may have the lock.
create or replace function reserve_lock(l locks, p_now timestamptz) returns locks
language plpgsql as $$
declare
    alive timestamptz := p_now - interval '4 seconds';
    young timestamptz := p_now - interval '2 minutes';
    turn  bigint;
    gone  integer := 0;
begin
    if l.waiters = 0 or l.reserved_until > p_now and l.reserved_for is not null then
        return l;
    end if;
    select t.ticket into turn from lock_tickets t
     where t.workspace_id = l.workspace_id and t.name = l.name and t.ticket > coalesce(l.reserved_for, 0) and t.created_at > young
       and exists (select 1 from replicas r where r.replica_id = t.replica and r.beat_at > alive)
     order by t.ticket limit 1;
    if turn is null then
        delete from lock_tickets t where t.workspace_id = l.workspace_id and t.name = l.name and t.created_at <= young;
        get diagnostics gone = row_count;
    end if;
    l.waiters := l.waiters - gone;
    l.reserved_for := turn;
    l.reserved_until := p_now + interval '1 second';
    update locks k set waiters = l.waiters, reserved_for = l.reserved_for, reserved_until = l.reserved_until
     where k.workspace_id = l.workspace_id and k.name = l.name;
    return l;
end $$;
