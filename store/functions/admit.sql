-- The first step of every call: who is it, and may such a caller do such a thing at all.
--
-- A stranger is refused before anything is locked, so forged keys cannot stall a tenant. Then the
-- workspace row is locked (for the whole batch: later calls find the running totals in aanet.tally)
-- and the key is read, since it may have been revoked or narrowed while this call waited.
-- The first use of a key ends those that it replaced (rotate_key).
--
-- p_want:  the workspace the caller named, as text; null when the operation names none
-- p_guard: 1 owner only + 2 refused while blocked + 4 refused for trials
-- Returns in code: null, UNAUTHENTICATED, NOT_FOUND, WORKSPACE_BLOCKED, OWNER_ONLY, TRIAL_NOT_ALLOWED.
-- seq stays null when the refusal cannot be attributed to a live workspace: settle then logs nothing.
create or replace function admit(p_workspace uuid, p_key bytea, p_want text, p_guard integer) returns admission
language plpgsql as $$
declare
    a       admission;
    revoked timestamptz;
    rotated timestamptz; -- until when older keys of this holder may live
    heir    bytea;       -- the holder's key of now, when this is an older one
    dies    timestamptz;
    retired bigint;
    held    text := current_setting('aanet.tally', true);
begin
    if held <> '' then
        a.t := held::tally;
        if (a.t).workspace_id <> p_workspace then
            raise exception 'workspace % was not flushed before a call of another', (a.t).workspace_id;
        end if;
    else
        a.t := lock_for_key(p_workspace, p_key);
        if (a.t).workspace_id is null then
            a.code := 'UNAUTHENTICATED';
            return a;
        end if;
    end if;
    a.ts := greatest(aanet_now(), (a.t).last_ts + interval '1 microsecond');
    select k.ctid, k.subkey_id, k.label, k.scope, k.budget_cap, k.spent, k.last_used_at, k.limits, k.revoked_at, k.rotated_until
      into a.key_at, a.subkey_id, a.key_label, a.scope, a.budget_cap, a.key_spent, a.last_used_at, a.limits, revoked, rotated
      from keys k where k.workspace_id = p_workspace and k.key_hash = p_key;
    if a.key_at is null then
        select k.successor, k.dies_at, k.seq into heir, dies, retired from retired_keys k where k.workspace_id = p_workspace and k.key_hash = p_key;
        select k.ctid, k.subkey_id, k.label, k.scope, k.budget_cap, k.spent, k.last_used_at, k.limits,
               case when dies <= a.ts then dies else k.revoked_at end
          into a.key_at, a.subkey_id, a.key_label, a.scope, a.budget_cap, a.key_spent, a.last_used_at, a.limits, revoked
          from keys k where k.workspace_id = p_workspace and k.key_hash = heir;
    end if;
    if a.key_at is null or (a.t).workspace_id is null or (a.t).gone or (a.t).trial_expires_at <= a.ts then
        a.code := 'UNAUTHENTICATED';
        return a;
    end if;
    a.seq := (a.t).seq + 1;
    a.era := -(a.seq >> 10); -- migrations/0008_hot_rows.up.sql
    a.is_owner := a.subkey_id is null;
    if revoked is not null then
        a.code := 'UNAUTHENTICATED';
        return a;
    elsif p_want <> p_workspace::text then
        a.code := 'NOT_FOUND';
    elsif (a.t).blocked and p_guard & 2 <> 0 then
        a.code := 'WORKSPACE_BLOCKED';
    elsif p_guard & 1 <> 0 and not a.is_owner then
        a.code := 'OWNER_ONLY';
    elsif p_guard & 4 <> 0 and (a.t).trial_expires_at is not null then
        a.code := 'TRIAL_NOT_ALLOWED';
    end if;
    if rotated is not null or heir is not null then
        a := retire_older(a, coalesce(heir, p_key), retired);
    end if;
    if not (a.limits is null) then
        a := slide_windows(a);
    end if;
    return a;
end $$;
