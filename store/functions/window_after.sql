-- The sixtieths of a window after so many more of them began; null begins with an empty window.
create or replace function window_after(p_spent bigint[], p_by bigint) returns bigint[]
language sql immutable parallel safe as $$
    select case
        when p_spent is null or p_by >= 60 then array_fill(0::bigint, array[60])
        when p_by <= 0 then p_spent
        else p_spent[p_by::integer + 1 : 60] || array_fill(0::bigint, array[p_by::integer])
    end
$$;
