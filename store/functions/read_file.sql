-- Reads a file or a page of a directory ('' is the root). Locks the workspace row.
-- p_after: entries after this name; p_limit: entries at most
-- May refuse: admit's codes, SCOPE_DENIED, NOT_FOUND, afford's codes.
create or replace function read_file(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_path text, p_after text, p_limit bigint,
    out code text, out info jsonb, out cost bigint, out remaining bigint,
    out is_dir boolean, out content text, out etag text, out entries text[], out next_after text)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
    f files;
begin
    if a.code is null and not in_scope(a.scope, p_path) then
        a.code := 'SCOPE_DENIED';
    elsif a.code is null then
        select * into f from files where workspace_id = p_workspace and path = p_path;
        is_dir := f.path is null;
        if is_dir and p_path <> '' and not exists (
            select 1 from files where workspace_id = p_workspace and path > p_path || '/' and path < p_path || '0')
        then
            a.code := 'NOT_FOUND';
        end if;
        a := afford(a, p_price);
    end if;
    if a.code is null and is_dir then
        select d.entries, d.next_after into entries, next_after from directory(p_workspace, p_path, p_after, p_limit) d;
    elsif a.code is null then
        content := f.body;
        etag := f.etag;
        if f.chunks > 0 then
            content := content || (select string_agg(c.body, '' order by c.seq) from file_chunks c
                                    where c.workspace_id = p_workspace and c.path = p_path);
        end if;
    end if;
    a := settle(a, p_operation, p_path, p_price);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
