-- The type of event that a successful call of an operation is; null for operations that are none.
create or replace function event_of(p_operation text) returns text
language sql immutable parallel safe as $$
    select case p_operation
        when 'PUT_FILE' then 'file_write'
        when 'APPEND_FILE' then 'file_write'
        when 'DELETE_FILE' then 'file_delete'
        when 'LOCK_RELEASE' then 'lock_available'
        when 'SEND_MESSAGE' then 'message'
        when 'PING_WEBHOOK' then 'ping'
        when 'BALANCE_LOW' then 'balance_low'
    end
$$;
