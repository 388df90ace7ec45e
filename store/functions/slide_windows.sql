-- Moves the windows of a key's spend limits on to the call's time and tells what is left in the tighter one.
-- A sixtieth leaves its window as a whole. Locks nothing.
create or replace function slide_windows(a admission) returns admission
language plpgsql immutable as $$
declare
    l    spend_limits := a.limits;
    slot bigint;
begin
    if l.per_hour is not null then
        slot := greatest(div(extract(epoch from a.ts), 60)::bigint, l.hour_slot);
        l.hour_spent := window_after(l.hour_spent, slot - l.hour_slot);
        l.hour_slot := slot;
        a.window_left := l.per_hour - (select sum(s)::bigint from unnest(l.hour_spent) s);
    end if;
    if l.per_day is not null then
        slot := greatest(div(extract(epoch from a.ts), 1440)::bigint, l.day_slot);
        l.day_spent := window_after(l.day_spent, slot - l.day_slot);
        l.day_slot := slot;
        a.window_left := least(a.window_left, l.per_day - (select sum(s)::bigint from unnest(l.day_spent) s));
    end if;
    a.limits := l;
    return a;
end $$;
