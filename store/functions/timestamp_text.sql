-- A timestamp as the API writes it: UTC, six fraction digits, Z.
create or replace function timestamp_text(p_ts timestamptz) returns text
language sql stable parallel safe as $$
    select to_char(p_ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
