-- Webhooks: who is told of a workspace's events, what waits to be sent, and how each attempt went.
-- There is no table of events: an event is the activity row of the call that made it.

alter table workspaces add column webhooks integer not null default 0;  -- active ones; 0: events cost nothing

-- One row an endpoint. Its queue, its back-off and its lease are here: a replica leases the endpoint, not an event.
create table webhooks (
    workspace_id    uuid not null,
    webhook_id      uuid not null,
    url             text not null,
    events          text[] not null,
    payload_version integer not null,                    -- of the bodies it gets, since it was registered
    secret          bytea not null,                      -- encrypted
    previous_secret bytea,                               -- encrypted; signs too until previous_until
    previous_until  timestamptz,
    active          boolean not null default true,
    disabled_reason text,
    disabled_at     timestamptz,
    enabled_at      timestamptz not null,                -- what waited since before is given its whole day again
    deleted_at      timestamptz,                         -- set: gone for everybody; its rows are freed later
    failures        integer not null default 0,          -- failed attempts in a row
    parked          boolean not null default false,      -- waits for money, and the log says so
    due_at          timestamptz,                         -- when to look at it next; null: nothing waits
    lease_until     timestamptz,
    leased_by       uuid,
    in_flight       uuid[] not null default '{}',        -- the attempts that the lease covers
    created_seq     bigint not null,
    created_at      timestamptz not null,
    primary key (workspace_id, webhook_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index webhooks_due on webhooks (due_at) where due_at is not null;

-- Only what waits. turn is the event's seq at first; after a failed attempt it is the seq of that attempt's
-- log row, so the event goes behind what waits already.
create table webhook_deliveries (
    workspace_id uuid not null,
    webhook_id   uuid not null,
    turn         bigint not null,
    seq          bigint not null,                        -- of the event's activity row
    attempts     integer not null default 0,             -- made so far
    queued_at    timestamptz not null,
    primary key (workspace_id, webhook_id, turn)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create table webhook_attempts (
    workspace_id uuid not null,
    delivery_id  uuid not null,
    webhook_id   uuid not null,
    log_seq      bigint not null,                        -- of the activity row that charged it
    seq          bigint not null,                        -- of the event's activity row
    event_type   text not null,
    attempt      integer not null,
    started_at   timestamptz not null,
    finished     boolean not null default false,
    duration_ms  integer,
    status_code  integer,                                -- null: no answer
    success      boolean not null default false,
    error        text,
    primary key (workspace_id, delivery_id)
) with (fillfactor = 80);
create index webhook_attempts_log on webhook_attempts (workspace_id, webhook_id, log_seq);

alter type tally add attribute delivery_spent bigint, add attribute webhooks integer;

insert into schema_migration_marks (version) values (2);
