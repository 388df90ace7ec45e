-- Waiting for locks: who waits in which order, and for whom a lock that is free is kept.

alter table locks
    add column waiters        integer not null default 0, -- rows of lock_tickets; 0: nobody waits, and acquiring looks no further
    add column last_ticket    bigint not null default 0,
    add column reserved_for   bigint,                     -- whose turn it is, while the lock is free
    add column reserved_until timestamptz;

-- One row a call that waits for a lock.
create table lock_tickets (
    workspace_id uuid not null,
    name         text collate "C" not null,
    ticket       bigint not null,                        -- the lowest is served first
    waiter       uuid not null,                          -- the call
    replica      uuid not null,                          -- the process that holds it
    created_at   timestamptz not null,
    primary key (workspace_id, name, ticket),
    unique (workspace_id, waiter)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- One row a process in which somebody waits. It is no tenant's: a ticket counts while its process beats.
create table replicas (
    replica_id uuid primary key,
    beat_at    timestamptz not null
) with (fillfactor = 50);

insert into schema_migration_marks (version) values (5);
