-- What nobody may have too much of: payments under way, a transaction for two deposits, and the slots of deliveries.

-- A workspace's deposits that are not decided yet: they are counted before another one is taken.
create index deposits_undecided on deposits (workspace_id) where state in ('received', 'settling', 'unknown');

-- By which deposit a transaction was credited, over all workspaces: it counts for one, unless the chain itself shows that
-- it made several payments. The claim is committed first, and no tenant's, as those of payments and payouts are.
create table credit_claims (
    network      text not null,                          -- CAIP-2
    tx_hash      text not null,
    workspace_id uuid not null,
    deposit_id   uuid not null,
    claimed_at   timestamptz not null,
    primary key (network, tx_hash)
);
insert into credit_claims (network, tx_hash, workspace_id, deposit_id, claimed_at)
    select network, tx_hash, workspace_id, deposit_id, resolved_at from deposits
     where state = 'credited' and tx_hash is not null and resolved_at is not null
     order by resolved_at on conflict do nothing;

-- Whether the receiver's last answer was a success that came at once: such endpoints may take all slots of the engine,
-- others only a part. Nobody has shown it of a new one.
alter table webhooks add column prompt boolean not null default false;
update webhooks set prompt = true where failures = 0 and active
   and exists (select 1 from webhook_attempts a where a.workspace_id = webhooks.workspace_id and a.webhook_id = webhooks.webhook_id and a.success);

insert into schema_migration_marks (version) values (10);
