-- Counts what a call costs in the windows of its key's spend limits. Locks nothing.
create or replace function spend_in_windows(a admission) returns admission
language plpgsql immutable as $$
declare
    l spend_limits := a.limits;
begin
    if l.per_hour is not null then
        l.hour_spent[60] := l.hour_spent[60] + a.cost;
    end if;
    if l.per_day is not null then
        l.day_spent[60] := l.day_spent[60] + a.cost;
    end if;
    a.limits := l;
    a.window_left := a.window_left - a.cost;
    return a;
end $$;
