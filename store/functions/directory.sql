-- One page of a directory's children in byte order of the name as shown (directories end with '/').
-- The order of paths is that order too, so the primary key is walked: a file is one step, and a
-- directory is stepped over however much lies in it ('0' is the byte after '/'). The work is in
-- proportion to the entries returned. Locks nothing: the caller holds the workspace row.
create or replace function directory(p_workspace uuid, p_path text, p_after text, p_limit bigint,
    out entries text[], out next_after text)
language plpgsql stable as $$
declare
    prefix text := case when p_path = '' then '' else p_path || '/' end;
    upto   text := case when p_path = '' then null else p_path || '0' end;
    from_  text := prefix;
    child  text;
    name   text;
begin
    entries := '{}';
    if p_after is not null then
        -- past every path of a directory shown as 'x/', or just past a file
        from_ := prefix || case when p_after like '%/' then left(p_after, -1) || '0' else p_after || chr(1) end;
    end if;
    <<page>> loop
        for child in
            select f.path from files f
             where f.workspace_id = p_workspace and f.path >= from_ and (upto is null or f.path < upto)
             order by f.path limit p_limit + 1
        loop
            if cardinality(entries) = p_limit then
                next_after := entries[p_limit];
                exit page;
            end if;
            name := substr(child, length(prefix) + 1);
            if strpos(name, '/') > 0 then
                name := split_part(name, '/', 1);
                entries := entries || (name || '/');
                from_ := prefix || name || '0';
                continue page;
            end if;
            entries := entries || name;
            from_ := child || chr(1);
        end loop;
        exit page;
    end loop;
end $$;
