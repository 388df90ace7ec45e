-- Deletes one file. Locks the workspace row.
-- p_lock, p_token: only while the caller holds that lock with that fencing token; null: whatever is held
-- p_once: functions/replay.sql
-- May refuse: admit's codes, SCOPE_DENIED, IDEMPOTENCY_CONFLICT, STALE_FENCE, IS_DIRECTORY, NOT_FOUND, CONFLICT (current_etag), afford's codes.
create or replace function delete_file(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_path text, p_if_match text, p_lock text, p_token bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a          admission := admit(p_workspace, p_key, p_want, p_guard);
    old_at     tid; -- where the file's row is: it stays there while the workspace row is held
    old_etag   text;
    old_chunks integer;
begin
    if a.code is null and (not in_scope(a.scope, p_path) or p_lock is not null and not in_scope(a.scope, p_lock)) then
        a.code := 'SCOPE_DENIED';
    elsif p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null and p_lock is not null and not holds_lock(a, p_lock, p_token) then
        a.code := 'STALE_FENCE';
    elsif a.code is null then
        select f.ctid, f.etag, f.chunks into old_at, old_etag, old_chunks from files f where f.workspace_id = p_workspace and f.path = p_path;
        if old_etag is null then
            a.code := coalesce(path_clash(p_workspace, p_path, '{}'), 'NOT_FOUND');
        elsif p_if_match <> old_etag then
            a.code := 'CONFLICT';
            a.info := jsonb_build_object('current_etag', old_etag);
        end if;
        a := afford(a, p_price);
    end if;
    if a.code is null then
        delete from files f where f.workspace_id = p_workspace and f.ctid = old_at;
        if old_chunks > 0 then
            delete from file_chunks c where c.workspace_id = p_workspace and c.path = p_path;
        end if;
    end if;
    a := settle(a, p_operation, p_path, p_price);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array());
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
