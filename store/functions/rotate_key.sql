-- Gives a sub-key, or the owner (p_subkey is null), a new key. The one before works until the new one is
-- first used, for p_overlap at most; so do those that were replaced before it. What the key may do, what it
-- spent, the locks it holds and the answers kept for it are its holder's and stay.
-- Locks the workspace row. May refuse: admit's codes, IDEMPOTENCY_CONFLICT, NOT_FOUND, SUBKEY_REVOKED.
create or replace function rotate_key(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_subkey uuid, p_hash bytea, p_last4 text, p_overlap interval, p_once jsonb,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out previous_until timestamptz)
language plpgsql as $$
declare
    a   admission := admit(p_workspace, p_key, p_want, p_guard);
    old bytea;
    gone timestamptz;
begin
    if p_once is not null then
        a := replay(a, p_once);
    end if;
    if a.code is null then
        if p_subkey is null then
            select k.key_hash into old from keys k where k.workspace_id = p_workspace and k.subkey_id is null;
        else
            select k.key_hash, k.revoked_at into old, gone from keys k where k.workspace_id = p_workspace and k.subkey_id = p_subkey;
        end if;
        if old is null then
            a.code := 'NOT_FOUND';
        elsif gone is not null then
            a.code := 'SUBKEY_REVOKED';
        end if;
    end if;
    if a.code is null then
        previous_until := a.ts + p_overlap;
        delete from retired_keys r where r.workspace_id = p_workspace and r.successor = old and r.dies_at < a.ts - interval '24 hours';
        update retired_keys r set successor = p_hash, dies_at = least(r.dies_at, previous_until)
         where r.workspace_id = p_workspace and r.successor = old;
        insert into retired_keys (workspace_id, key_hash, successor, seq, dies_at) values (p_workspace, old, p_hash, a.seq, previous_until);
        update keys k set key_hash = p_hash, last4 = p_last4, rotated_until = previous_until
         where k.workspace_id = p_workspace and k.key_hash = old;
    end if;
    a := settle(a, p_operation, nullif(p_subkey, '00000000-0000-0000-0000-000000000000')::text, 0);
    if p_once is not null then
        perform keep(a, p_once, jsonb_build_array(previous_until));
    end if;
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
