-- The seq of the first log row at or after a time; one past the last row when there is none,
-- and 1 for a null time.
-- seq has no gaps and ts rises with it, so a binary search over the primary key finds it in a few
-- probes and the log needs no index by time, which every call would have to maintain. Locks nothing.
create or replace function first_seq_since(p_workspace uuid, p_since timestamptz) returns bigint
language plpgsql stable as $$
declare
    lo bigint := 1::bigint;
    hi bigint := 1 + coalesce((select max(seq) from activity where workspace_id = p_workspace), 0);
    at timestamptz;
    m  bigint;
begin
    if p_since is null then
        return lo;
    end if;
    while lo < hi loop
        m := (lo + hi) / 2;
        select ts into at from activity where workspace_id = p_workspace and seq = m;
        if at >= p_since then
            hi := m;
        else
            lo := m + 1;
        end if;
    end loop;
    return lo;
end $$;
