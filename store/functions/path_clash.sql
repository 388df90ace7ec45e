-- Whether a file that does not exist yet may be made at p_path: IS_DIRECTORY when there are files
-- below it, NOT_A_DIRECTORY when something above it is a file, else null. The caller holds the workspace row.
create or replace function path_clash(p_workspace uuid, p_path text, p_ancestors text[]) returns text
language plpgsql stable as $$
begin
    if exists (select 1 from files where workspace_id = p_workspace and path > p_path || '/' and path < p_path || '0') then
        return 'IS_DIRECTORY';
    elsif exists (select 1 from files where workspace_id = p_workspace and path = any (p_ancestors)) then
        return 'NOT_A_DIRECTORY';
    end if;
    return null;
end $$;
