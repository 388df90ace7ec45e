-- Safe retries and tighter keys: answers kept for repeats, keys that were rotated, limits on what a key
-- spends in a time, and warnings of a low balance.

-- The first success of a call with an idempotency key, for those that repeat it.
create table idempotency_keys (
    workspace_id uuid not null,
    caller       uuid not null,                          -- the sub-key; all zero: the owner. A rotated key is the same caller
    once_key     text collate "C" not null,
    hash         text not null,                          -- of the operation and its input
    answer       jsonb not null,                         -- what the SQL function answered
    made         text,                                   -- what was made before it (ids, secrets), encrypted
    created_at   timestamptz not null,
    primary key (workspace_id, caller, once_key)
);
create index idempotency_keys_created on idempotency_keys (created_at);

-- One row a key that was replaced by a rotation; successor is the key that its holder has now.
create table retired_keys (
    workspace_id uuid not null,
    key_hash     bytea not null,
    successor    bytea not null,
    seq          bigint not null,                        -- of the activity row of the rotation
    dies_at      timestamptz not null,                   -- until then it works too
    primary key (workspace_id, key_hash)
);

-- What a key may spend in an hour and in a day, and what it spent in each sixtieth of them, the newest last.
create type spend_limits as (
    per_hour bigint, hour_slot bigint, hour_spent bigint[],  -- the slot of the newest: sixtieths since 1970
    per_day bigint, day_slot bigint, day_spent bigint[]
);

alter table keys
    add column limits        spend_limits,               -- null: none
    add column rotated_until timestamptz;                -- until then keys that this one replaced may still work
alter type admission
    add attribute limits spend_limits, add attribute window_left bigint;  -- null: no limit

alter table webhooks
    add column balance_low_units bigint,                 -- null: it does not want to be warned
    add column low_armed         boolean not null default false;
alter table workspaces add column low_at bigint;         -- a balance below it makes a warning; null: none is wanted
alter type tally add attribute low_at bigint;

insert into schema_migration_marks (version) values (4);
