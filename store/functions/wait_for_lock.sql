-- acquire_lock for a call that may wait: while it is not its turn it keeps a ticket, and nothing is
-- charged or logged. It is called again when it may be its turn, and with p_last when the wait is over.
-- p_waiter: the call; p_replica: the process that holds it
-- waiting: not now; look again in look_in seconds (the lease ends or the reservation does). turn is the
-- ticket that the free lock is kept for. Locks the workspace row. Every other end takes the ticket away.
-- May refuse: admit's codes, SCOPE_DENIED, IDEMPOTENCY_CONFLICT, LOCK_HELD (only with p_last), afford's codes.
create or replace function wait_for_lock(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_name text, p_lease_seconds bigint, p_waiter uuid, p_replica uuid, p_last boolean, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out lease_expires_at timestamptz, out fencing_token bigint, out reacquired boolean,
    out waiting boolean, out ticket bigint, out turn bigint, out look_in double precision, out subkey_id uuid)
language plpgsql as $$
declare
    a     admission := admit(p_workspace, p_key, p_want, p_guard);
    l     locks;
    until timestamptz;
begin
    waiting := false;
    subkey_id := a.subkey_id;
    if a.code is null and not in_scope(a.scope, p_name) then
        a.code := 'SCOPE_DENIED';
    elsif p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        select * into l from locks k where k.workspace_id = p_workspace and k.name = p_name;
        select t.ticket into ticket from lock_tickets t where t.workspace_id = p_workspace and t.waiter = p_waiter;
        reacquired := coalesce(l.held and l.lease_expires_at > a.ts, false);
        if reacquired and l.holder is distinct from a.subkey_id then
            until := l.lease_expires_at;
        elsif not reacquired and l.waiters > 0 then
            l := reserve_lock(l, a.ts);
            if l.reserved_for <> coalesce(ticket, 0) then
                turn := l.reserved_for;
                until := l.reserved_until;
            end if;
        end if;
        if until is not null and not p_last then
            if ticket is null then
                ticket := l.last_ticket + 1;
                insert into lock_tickets (workspace_id, name, ticket, waiter, replica, created_at)
                values (p_workspace, p_name, ticket, p_waiter, p_replica, a.ts);
                update locks k set last_ticket = wait_for_lock.ticket, waiters = k.waiters + 1
                 where k.workspace_id = p_workspace and k.name = p_name;
            end if;
            waiting := true;
            look_in := extract(epoch from until - a.ts)::double precision;
            cost := 0;
            remaining := remaining(a);
            perform touch_key(a);
            return;
        elsif until is not null then
            a.code := 'LOCK_HELD';
            a.info := lock_held(l, reacquired);
        end if;
        a := afford(a, p_price);
    end if;
    perform leave_line(p_workspace, p_name, p_waiter);
    if a.code is null then
        lease_expires_at := a.ts + make_interval(secs => p_lease_seconds);
        fencing_token := coalesce(l.fencing_token, 0) + case when reacquired then 0 else 1 end;
        if l.name is null then
            insert into locks (workspace_id, name, held, holder, lease_expires_at, fencing_token, acquire_count, last_holder, last_acquired_at)
            values (p_workspace, p_name, true, a.subkey_id, lease_expires_at, fencing_token, 1, a.subkey_id, a.ts);
        else
            update locks k
               set held = true, holder = a.subkey_id, lease_expires_at = wait_for_lock.lease_expires_at, fencing_token = wait_for_lock.fencing_token,
                   reserved_for = null, acquire_count = k.acquire_count + 1, last_holder = a.subkey_id, last_acquired_at = a.ts
             where k.workspace_id = p_workspace and k.name = p_name;
        end if;
    end if;
    a := settle(a, p_operation, p_name, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(lease_expires_at, fencing_token, reacquired)); -- as acquire_lock does
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
