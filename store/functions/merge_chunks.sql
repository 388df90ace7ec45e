-- Joins the small chunks at the end of a file into one. Chunks that have reached 64 KiB stay as they
-- are, so a byte is copied about once for every 64 appends and a file has few chunks.
-- The caller holds the workspace row. files.chunks goes on counting appends, not rows.
create or replace function merge_chunks(p_workspace uuid, p_path text) returns void
language plpgsql as $$
declare
    large_seq bigint;
    first_seq bigint;
    merged    text;
begin
    select coalesce(max(c.seq), 0) into large_seq
      from file_chunks c
     where c.workspace_id = p_workspace and c.path = p_path and octet_length(c.body) >= 65536;
    select min(c.seq), string_agg(c.body, '' order by c.seq) into first_seq, merged
      from file_chunks c
     where c.workspace_id = p_workspace and c.path = p_path and c.seq > large_seq;
    delete from file_chunks c
     where c.workspace_id = p_workspace and c.path = p_path and c.seq > first_seq;
    update file_chunks c set body = merged
     where c.workspace_id = p_workspace and c.path = p_path and c.seq = first_seq;
end $$;
