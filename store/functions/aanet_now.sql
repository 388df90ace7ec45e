-- The one clock of the hot path. Read it into a variable, never inside UPDATE SET or ON CONFLICT.
-- A test moves it for its whole database:  alter database d set aanet.clock_shift = '25 hours'.
-- Locks nothing.
create or replace function aanet_now() returns timestamptz
language sql volatile parallel safe as $$
    select clock_timestamp() + coalesce(nullif(current_setting('aanet.clock_shift', true), ''), '0')::interval
$$;
