-- Roll-ups: what would otherwise scan the log, or all workspaces, for a page (docs/decisions/0009-rollups.md).
-- The log stays the truth: each sum says up to which row it counts, and who needs the rest adds it from the log.

-- The hour in which the row was last written, and so the index by which changed workspaces are found: within an hour
-- no call touches that index again.
alter table workspaces add column changed_hour timestamptz not null default 'epoch';
update workspaces set changed_hour = date_bin('1 hour', last_ts, 'epoch');
create index workspaces_changed on workspaces (changed_hour, workspace_id);

-- What the operator searches and lists by. None of these columns changes with a call.
create index workspaces_alive on workspaces (workspace_id) where deleted_at is null;
create index workspaces_blocked on workspaces (workspace_id) where blocked and deleted_at is null;
create index workspaces_label on workspaces (lower(label) text_pattern_ops) where deleted_at is null;
create index keys_id on keys (subkey_id) where subkey_id is not null;
create index keys_last4 on keys (last4);
create index deposits_created on deposits (created_at) include (network, state, units);
create index deposits_tx on deposits (tx_hash) where tx_hash is not null;
create index deposits_payer on deposits (lower(payer)) where payer is not null;
create index refunds_tx on refunds (tx_hash) where tx_hash is not null;
create index refunds_destination on refunds (lower(destination));

-- Hosts of webhooks, apart from webhooks, whose rows move with each delivery.
create table webhook_hosts (
    workspace_id uuid not null,
    webhook_id   uuid not null,
    host         text collate "C" not null,              -- in lower case, without the port
    primary key (workspace_id, webhook_id)
);
create index webhook_hosts_host on webhook_hosts (host);
insert into webhook_hosts (workspace_id, webhook_id, host)
    select workspace_id, webhook_id, lower(substring(url from '^https?://([^/:?#]+)')) from webhooks where url ~ '^https?://[^/:?#]+';

-- How far the log of each workspace is counted, and what the lists of workspaces are sorted by. No call writes it.
create table workspace_rollups (
    workspace_id uuid primary key,
    seq          bigint not null,                        -- of the last log row that is counted
    ts           timestamptz not null,                   -- of that row
    kept_from    timestamptz not null default 'epoch',   -- hours before it are summed up in the hour 'epoch'
    balance      bigint not null,                        -- this and what follows as it was when it was counted
    trial        boolean not null,
    blocked      boolean not null,
    gone         boolean not null,
    day          timestamptz not null,                   -- of ts, in UTC
    day_calls    bigint not null                         -- rows of the log in that day
) with (fillfactor = 70);
create index workspace_rollups_balance on workspace_rollups (balance desc, workspace_id desc) where not gone;
create index workspace_rollups_day on workspace_rollups (day desc, day_calls desc, workspace_id desc) where not gone;
create index workspace_rollups_ts on workspace_rollups (ts) where not gone;

-- The counted rows of the log by hour, key and operation.
create table workspace_hours (
    workspace_id uuid not null,
    hour         timestamptz not null,                   -- its beginning; 'epoch': all that is no longer kept by hour
    subkey_id    uuid not null,                          -- all zero: the owner, the operator or the service itself
    operation    text not null,
    calls        bigint not null,
    refusals     bigint not null,                        -- of calls
    units        bigint not null,
    primary key (workspace_id, hour, subkey_id, operation)
);
create index workspace_hours_old on workspace_hours (hour);

-- The sums of workspace_hours over keys and operations: a workspace may have ten thousand keys.
create table workspace_totals (
    workspace_id uuid not null,
    hour         timestamptz not null,
    calls        bigint not null,
    refusals     bigint not null,
    units        bigint not null,
    messages     bigint not null,                        -- of calls: messages that were sent
    primary key (workspace_id, hour)
);

-- The counted rows of all logs by minute (kept for two days) and by hour (kept for 90).
create table log_minutes (
    at    timestamptz not null,
    kind  text not null,                                 -- OK, DELIVERY (an attempt of a webhook), or the code of a refusal
    calls bigint not null,
    units bigint not null,
    primary key (at, kind)
);
create table log_hours (
    at    timestamptz not null,
    kind  text not null,
    calls bigint not null,
    units bigint not null,
    primary key (at, kind)
);

-- Answers of the service, which each process counts for itself: all of them, also those that leave no log row. what is a
-- code ('OK', or that of a refusal), or 'time:NN': the place of the time taken among the bounds in store/answered.go.
create table answer_minutes (
    at      timestamptz not null,
    replica uuid not null,
    what    text not null,
    calls   bigint not null,
    primary key (at, replica, what)
);
create table answer_hours (
    at    timestamptz not null,
    what  text not null,
    calls bigint not null,
    primary key (at, what)
);

-- One row: where the roll-up is, and its sums over all workspaces. Whoever works on it holds its lock.
create table rollup_state (
    one           boolean primary key default true check (one),
    started       timestamptz,                           -- of the pass under way; null: none is
    at_hour       timestamptz not null default 'epoch',  -- how far it is in workspaces_changed
    at_workspace  uuid not null default '00000000-0000-0000-0000-000000000000',
    cutoff        timestamptz not null default 'epoch',  -- whoever changed last in an hour before it is counted
    swept         uuid not null default '00000000-0000-0000-0000-000000000000', -- how far the slow check of all is
    as_of         timestamptz not null default 'epoch',  -- all that was committed before it is counted
    workspaces    bigint not null default 0,             -- ever made
    alive         bigint not null default 0,
    trials        bigint not null default 0,             -- of those alive
    blocked       bigint not null default 0,             -- of those alive
    balance       numeric not null default 0,
    active_hour   bigint not null default 0,             -- alive with a log row in the hour, day and 30 days before as_of
    active_day    bigint not null default 0,
    active_month  bigint not null default 0
) with (fillfactor = 50);
insert into rollup_state default values;

insert into schema_migration_marks (version) values (7);
