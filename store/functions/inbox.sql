-- The messages that one key sees, after p_since, oldest first. Locks nothing.
create or replace function inbox(p_workspace uuid, p_owner boolean, p_subkey uuid, p_since timestamptz, p_topic text, p_limit bigint)
returns setof messages
language plpgsql stable as $$
begin
    if p_topic is not null then
        return query
            select * from messages m
             where m.workspace_id = p_workspace and m.topic = p_topic and m.ts > p_since
               and (p_owner or m.recipient is null or m.recipient = p_subkey)
             order by m.ts limit p_limit;
    elsif p_owner then
        return query
            select * from messages m where m.workspace_id = p_workspace and m.ts > p_since order by m.ts limit p_limit;
    else
        return query
            select * from (
                (select * from messages m where m.workspace_id = p_workspace and m.recipient = p_subkey and m.ts > p_since
                  order by m.ts limit p_limit)
                union all
                (select * from messages m where m.workspace_id = p_workspace and m.recipient is null and m.ts > p_since
                  order by m.ts limit p_limit)) both_kinds
             order by ts limit p_limit;
    end if;
end $$;
