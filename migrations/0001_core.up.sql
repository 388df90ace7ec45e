-- The schema of the core: tenants, their keys, files, locks, messages and the activity log,
-- and the money records that survive them. Every tenant table begins its primary key and each
-- index that serves a tenant with workspace_id, so it can be distributed by that column.

-- One row a tenant. The running totals live here: every metered call changes them, once a batch.
create table workspaces (
    workspace_id     uuid primary key,
    label            text not null,
    created_at       timestamptz not null,
    trial_expires_at timestamptz,                        -- null: not a trial
    blocked          boolean not null default false,
    blocked_reason   text,
    deleted_at       timestamptz,                        -- set: gone for every caller
    freed_at         timestamptz,                        -- set: its rows are gone too
    balance          bigint not null default 0 check (balance >= 0),
    granted          bigint not null default 0,          -- part of balance that cannot be refunded; spent first
    spent            bigint not null default 0,          -- all charges: owner_spent + keys.spent + delivery_spent
    owner_spent      bigint not null default 0,
    delivery_spent   bigint not null default 0,
    seq              bigint not null default 0,          -- of the last activity row
    last_ts          timestamptz not null,               -- of the last activity row
    refusal_tokens   double precision not null default 500,
    refusal_at       timestamptz not null,
    check (granted between 0 and balance)
) with (fillfactor = 40);
create index workspaces_trial on workspaces (trial_expires_at) where trial_expires_at is not null and deleted_at is null;
create index workspaces_freeing on workspaces (deleted_at) where deleted_at is not null and freed_at is null;

-- One row a credential. subkey_id is null for the owner key.
create table keys (
    workspace_id uuid not null,
    key_hash     bytea not null,                         -- SHA-256 of the whole key
    subkey_id    uuid,
    last4        text not null,
    label        text not null,
    scope        text collate "C",                       -- null: every path
    budget_cap   bigint,                                 -- null: no cap
    spent        bigint not null default 0,
    minted_seq   bigint not null,
    created_at   timestamptz not null,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    primary key (workspace_id, key_hash)
) with (fillfactor = 20); -- every charge is a new version of the row: room for many on its page spares the indexes
create index keys_subkey on keys (workspace_id, subkey_id); -- ids are random: a unique index would only cost checks

-- One row a file. body is what the last write left; later appends to a large file are chunks.
create table files (
    workspace_id uuid not null,
    path         text collate "C" not null,
    etag         text not null,
    size         integer not null,                       -- bytes of UTF-8, chunks included
    body         text not null,
    chunks       integer not null default 0,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (workspace_id, path)
) with (fillfactor = 80);

create table file_chunks (
    workspace_id uuid not null,
    path         text collate "C" not null,
    seq          bigint not null,                        -- of the activity row that appended it
    body         text not null,
    primary key (workspace_id, path, seq)
);

-- lz4 costs a tenth of pglz on a 1 MiB write; a server built without it keeps its default.
do $$
begin
    alter table files alter column body set compression lz4;
    alter table file_chunks alter column body set compression lz4;
exception when feature_not_supported then
    raise notice 'lz4 is not available: file bodies use the default compression';
end $$;

-- One row a lock name that was ever held. holder is null for the owner key, so held tells.
create table locks (
    workspace_id     uuid not null,
    name             text collate "C" not null,
    held             boolean not null,
    holder           uuid,
    lease_expires_at timestamptz not null,
    fencing_token    bigint not null,
    acquire_count    bigint not null,
    release_count    bigint not null default 0,
    last_holder      uuid,
    last_acquired_at timestamptz not null,
    last_released_at timestamptz,
    primary key (workspace_id, name)
) with (fillfactor = 70);
create index locks_held on locks (workspace_id, name) where held;

-- ts is unique and rises in commit order inside a workspace: it is the reader's cursor.
create table messages (
    workspace_id uuid not null,
    ts           timestamptz not null,
    message_id   uuid not null,
    sender       uuid,                                   -- null: the owner
    recipient    uuid,                                   -- null: everybody
    topic        text collate "C",
    body         text not null,
    primary key (workspace_id, ts)
);
create index messages_recipient on messages (workspace_id, recipient, ts);
create index messages_topic on messages (workspace_id, topic, ts) where topic is not null;

-- Append-only: what was attempted. ts rises with seq, so it needs no index (functions/first_seq_since.sql). etag, message_id and recipient are kept for the event feed.
create table activity (
    workspace_id uuid not null,
    seq          bigint not null,
    ts           timestamptz not null,
    subkey_id    uuid,                                   -- null: the owner, or the operator
    operation    text not null,
    path         text collate "C",                       -- path, lock name, topic or id
    cost         bigint not null default 0,
    status       text not null default 'OK',
    detail       text,
    etag         text,
    message_id   uuid,
    recipient    uuid,
    primary key (workspace_id, seq)
);

create table feedback (
    workspace_id      uuid not null,
    feedback_id       uuid not null,
    subkey_id         uuid,
    category          text not null,
    title             text not null,
    description       text not null,
    pledged_budget_usd numeric(12, 2) not null,
    status            text not null default 'open',
    created_at        timestamptz not null,
    primary key (workspace_id, feedback_id)
);

-- Money that did not come through a deposit or leave through a refund.
create table adjustments (
    workspace_id  uuid not null,
    adjustment_id uuid not null,
    kind          text not null check (kind in ('trial_grant', 'credit', 'forfeit')),
    units         bigint not null check (units >= 0),
    refundable    boolean not null default false,
    reason        text not null,
    created_at    timestamptz not null,
    primary key (workspace_id, adjustment_id)
);

create table deposits (
    workspace_id uuid not null,
    deposit_id   uuid not null,
    state        text not null check (state in ('received', 'settling', 'credited', 'failed', 'unknown')),
    units        bigint not null check (units > 0),
    network      text not null,
    created_at   timestamptz not null,
    resolved_at  timestamptz,
    primary key (workspace_id, deposit_id)
);

create table refunds (
    workspace_id uuid not null,
    refund_id    uuid not null,
    state        text not null check (state in ('pending', 'paid', 'rejected')),
    units        bigint not null check (units > 0),
    network      text not null,
    destination  text not null,
    requested_at timestamptz not null,
    resolved_at  timestamptz,
    primary key (workspace_id, refund_id)
);

-- The running totals of one workspace as a batch carries them from call to call (functions/flush.sql).
create type tally as (
    workspace_id uuid, trial_expires_at timestamptz, blocked boolean, gone boolean,
    balance bigint, granted bigint, spent bigint, owner_spent bigint,
    seq bigint, last_ts timestamptz, refusal_tokens double precision, refusal_at timestamptz
);

-- One call in progress: who makes it, what its log row will carry, and why it is refused, if it is.
create type admission as (
    code text, info jsonb,                               -- the refusal: CONTRACT codes and its extra fields
    key_at tid,                                          -- where the key's row is
    subkey_id uuid, is_owner boolean, key_label text, scope text,
    budget_cap bigint, key_spent bigint, last_used_at timestamptz,
    seq bigint, ts timestamptz,                          -- of the log row
    cost bigint, remaining bigint,                       -- set by settle
    t tally
);

insert into schema_migration_marks (version) values (1);
