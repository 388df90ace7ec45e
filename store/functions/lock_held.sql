-- What LOCK_HELD tells beside its code: who holds the lock and until when, or, for one that is free and
-- kept for a caller that waits (reserved), until when it is kept.
create or replace function lock_held(l locks, p_held boolean) returns jsonb
language sql stable as $$
    select case when p_held
        then jsonb_build_object('holder_subkey_id', l.holder, 'lease_expires_at', timestamp_text(l.lease_expires_at))
        else jsonb_build_object('holder_subkey_id', null, 'lease_expires_at', timestamp_text(l.reserved_until), 'reserved', true)
    end
$$;
