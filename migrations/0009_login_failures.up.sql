-- Failed logins of operators, counted for all processes together, and what searches need of a host with many webhooks.

-- How much is left of each limit: the instant from which on it is full again. A row in the past says the same as none.
create table login_failures (
    bucket  bytea primary key,                           -- a hash of what is limited
    full_at timestamptz not null
);
create index login_failures_full on login_failures (full_at);

-- Ids of webhooks begin with the time they were made: the newest of a host are found without reading all of them.
drop index webhook_hosts_host;
create index webhook_hosts_host on webhook_hosts (host, webhook_id);

insert into schema_migration_marks (version) values (9);
