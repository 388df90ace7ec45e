-- Adds text to the end of a file, or makes the file. A small file is one piece; behind a larger one
-- the text becomes a chunk, so that an append costs the same whatever the file's size.
-- Locks the workspace row. p_size_max: bytes a file may have.
-- p_lock, p_token: only while the caller holds that lock with that fencing token; null: whatever is held
-- p_once: functions/replay.sql
-- May refuse: admit's codes, SCOPE_DENIED, IDEMPOTENCY_CONFLICT, STALE_FENCE, IS_DIRECTORY, NOT_A_DIRECTORY, CONFLICT (current_etag), TOO_LARGE, afford's codes.
create or replace function append_file(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_path text, p_ancestors text[], p_content text, p_size integer, p_if_match text, p_size_max integer, p_lock text, p_token bigint, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out etag text, out created boolean)
language plpgsql as $$
declare
    a          admission := admit(p_workspace, p_key, p_want, p_guard);
    old_at     tid; -- where the file's row is: it stays there while the workspace row is held
    old_etag   text;
    old_size   integer;
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
        select f.ctid, f.etag, f.size, f.chunks into old_at, old_etag, old_size, old_chunks
          from files f where f.workspace_id = p_workspace and f.path = p_path;
        if old_etag is null then
            a.code := path_clash(p_workspace, p_path, p_ancestors);
        end if;
        if a.code is null and p_if_match <> coalesce(old_etag, '') then
            a.code := 'CONFLICT';
            a.info := jsonb_build_object('current_etag', old_etag);
        elsif a.code is null and old_size + p_size > p_size_max then
            a.code := 'TOO_LARGE';
        end if;
        a := afford(a, p_price);
    end if;
    if a.code is null then
        etag := etag_of(a.seq);
        created := old_etag is null;
        if created then
            insert into files (workspace_id, path, etag, size, body, created_at, updated_at)
            values (p_workspace, p_path, etag, p_size, p_content, a.ts, a.ts);
        elsif old_chunks = 0 and old_size < 4096 then
            update files f set etag = append_file.etag, size = f.size + p_size, body = f.body || p_content, updated_at = a.ts, era = a.era
             where f.workspace_id = p_workspace and f.ctid = old_at;
        else
            insert into file_chunks (workspace_id, path, seq, body) values (p_workspace, p_path, a.seq, p_content);
            update files f set etag = append_file.etag, size = f.size + p_size, chunks = f.chunks + 1, updated_at = a.ts, era = a.era
             where f.workspace_id = p_workspace and f.ctid = old_at;
            if old_chunks % 64 = 63 then
                perform merge_chunks(p_workspace, p_path);
            end if;
        end if;
    end if;
    a := settle(a, p_operation, p_path, p_price, p_etag => etag);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(etag, created));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
