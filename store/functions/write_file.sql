-- Writes a whole file. Locks the workspace row (admit), which also settles races between a file
-- and a directory of the same name.
-- p_ancestors: the directories above p_path; p_size: bytes of p_content in UTF-8
-- p_if_match: null writes whatever is there; p_create_only: refuse when the file exists
-- p_lock, p_token: only while the caller holds that lock with that fencing token; null: whatever is held
-- p_once: functions/replay.sql
-- May refuse: admit's codes, SCOPE_DENIED, IDEMPOTENCY_CONFLICT, STALE_FENCE, IS_DIRECTORY, NOT_A_DIRECTORY, CONFLICT (current_etag), afford's codes.
create or replace function write_file(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_path text, p_ancestors text[], p_content text, p_size integer, p_if_match text, p_create_only boolean, p_lock text, p_token bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out etag text, out created boolean)
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
            a.code := path_clash(p_workspace, p_path, p_ancestors);
        end if;
        if a.code is null and (p_if_match <> coalesce(old_etag, '') or p_create_only and old_etag is not null) then
            a.code := 'CONFLICT';
            a.info := jsonb_build_object('current_etag', old_etag);
        end if;
        a := afford(a, p_price);
    end if;
    if a.code is null then
        etag := etag_of(a.seq);
        created := old_etag is null;
        if created then
            insert into files (workspace_id, path, etag, size, body, created_at, updated_at)
            values (p_workspace, p_path, etag, p_size, p_content, a.ts, a.ts);
        else
            update files f set etag = write_file.etag, size = p_size, body = p_content, chunks = 0, updated_at = a.ts, era = a.era
             where f.workspace_id = p_workspace and f.ctid = old_at;
            if old_chunks > 0 then
                delete from file_chunks c where c.workspace_id = p_workspace and c.path = p_path;
            end if;
        end if;
    end if;
    a := settle(a, p_operation, p_path, p_price, p_etag => etag);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(etag, created));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
