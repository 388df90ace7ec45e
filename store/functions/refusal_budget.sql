-- Takes one row from the workspace's budget of refusal rows, a token bucket that refills with time.
-- Locks nothing: the caller holds the workspace row. Returns the totals with refusal_tokens below
-- zero when the budget is empty (nothing is then taken); a rate of 0 means no limit.
create or replace function refusal_budget(t tally, p_now timestamptz) returns tally
language plpgsql stable as $$
declare
    rate  double precision := coalesce(nullif(current_setting('aanet.refusal_rate', true), ''), '50')::double precision;
    burst double precision := coalesce(nullif(current_setting('aanet.refusal_burst', true), ''), '500')::double precision;
begin
    if rate = 0 then
        return t;
    end if;
    t.refusal_tokens := least(burst, t.refusal_tokens + rate * greatest(extract(epoch from p_now - t.refusal_at)::double precision, 0));
    t.refusal_at := p_now;
    t.refusal_tokens := case when t.refusal_tokens < 1 then -1 else t.refusal_tokens - 1 end;
    return t;
end $$;
