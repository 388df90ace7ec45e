-- The etag of what the log row seq wrote: unique in the workspace for ever, opaque to callers.
create or replace function etag_of(p_seq bigint) returns text
language sql immutable parallel safe as $$
    select 'v' || to_hex(p_seq)
$$;
