-- The last check of a call: do the workspace's balance, then this key's cap, then its spend limits cover
-- the price? Locks nothing: the caller holds the workspace row. Adds INSUFFICIENT_BALANCE, BUDGET_EXCEEDED
-- or SPEND_LIMIT_EXCEEDED (available_at: null when the price is above the limit itself) with required and
-- available; a refusal already found stays.
create or replace function afford(a admission, p_price bigint) returns admission
language plpgsql stable as $$
begin
    if a.code is not null then
        return a;
    elsif (a.t).balance < p_price then
        a.code := 'INSUFFICIENT_BALANCE';
        a.info := jsonb_build_object('required', p_price, 'available', (a.t).balance);
    elsif p_price > 0 and a.key_spent + p_price > a.budget_cap then
        a.code := 'BUDGET_EXCEEDED';
        a.info := jsonb_build_object('required', p_price, 'available', greatest(a.budget_cap - a.key_spent, 0));
    elsif p_price > 0 and p_price > a.window_left then
        a.code := 'SPEND_LIMIT_EXCEEDED';
        a.info := jsonb_build_object('required', p_price, 'available', greatest(a.window_left, 0),
            'available_at', timestamp_text(affordable_at(a.limits, p_price)));
    end if;
    return a;
end $$;
