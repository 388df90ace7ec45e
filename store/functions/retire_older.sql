-- Ends the keys that a key in use has replaced. p_heir: the holder's newest key; p_seq: the rotation that
-- replaced the key in use; null: it is the newest. The caller holds the workspace row.
create or replace function retire_older(a admission, p_heir bytea, p_seq bigint) returns admission
language plpgsql as $$
begin
    update retired_keys r set dies_at = a.ts
     where r.workspace_id = (a.t).workspace_id and r.successor = p_heir and r.dies_at > a.ts and (p_seq is null or r.seq < p_seq);
    if p_seq is null then
        update keys k set rotated_until = null where k.workspace_id = (a.t).workspace_id and k.ctid = a.key_at returning k.ctid into a.key_at;
    end if;
    return a;
end $$;
