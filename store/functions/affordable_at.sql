-- When a key's spend limits will let p_price through, if nothing else is spent; null: never.
create or replace function affordable_at(l spend_limits, p_price bigint) returns timestamptz
language plpgsql immutable as $$
declare
    lack bigint;
    at   timestamptz := '-infinity'::timestamptz;
begin
    if p_price > l.per_hour or p_price > l.per_day then
        return null;
    end if;
    lack := p_price + (select sum(s)::bigint from unnest(l.hour_spent) s) - l.per_hour;
    for i in 1 .. 60 loop
        exit when lack is null or lack <= 0;
        lack := lack - l.hour_spent[i];
        at := to_timestamp(((l.hour_slot + i) * 60)::double precision);
    end loop;
    lack := p_price + (select sum(s)::bigint from unnest(l.day_spent) s) - l.per_day;
    for i in 1 .. 60 loop
        exit when lack is null or lack <= 0;
        lack := lack - l.day_spent[i];
        at := greatest(at, to_timestamp(((l.day_slot + i) * 1440)::double precision));
    end loop;
    return at;
end $$;
