-- Deposits by x402 and refunds: what a payment is, how far it came, and who claimed what.

alter table deposits
    add column payment_key   text,                       -- what a payment counts once by, over all workspaces
    add column payer         text,
    add column payment       jsonb,                      -- what it takes to settle it, or to look for it on its chain
    add column facilitator   text,                       -- who was asked to settle it last
    add column attempt       integer not null default 0, -- settles sent so far
    add column settling_at   timestamptz,                -- of the last one
    add column tx_hash       text,                       -- set when credited; before that a hint from the facilitator
    add column reason        text,
    add column resolved_by   text;                       -- facilitator, chain or operator
create index deposits_open on deposits (created_at) where state in ('received', 'settling', 'unknown');
create index deposits_id on deposits (deposit_id);

alter table refunds
    add column fee           bigint not null default 0 check (fee >= 0 and fee < units),
    add column stays         bigint not null default 0,  -- units that could not be refunded and stayed in the balance
    add column tx_hash       text,
    add column checked       boolean not null default false, -- the chain was asked whether the payout is right
    add column reason        text,
    add column resolved_by   text;
create index refunds_pending on refunds (requested_at) where state = 'pending';
create index refunds_id on refunds (refund_id);

-- What must be unique over all workspaces stands in two small tables that are no tenant's: the claim is
-- committed first, and what the tenant gets is idempotent by it.
create table payment_claims (
    payment_key  text primary key,
    workspace_id uuid not null,
    deposit_id   uuid not null,
    claimed_at   timestamptz not null,
    committed    boolean not null default false          -- its deposit may be settled: nobody may take it away
);
create index payment_claims_deposit on payment_claims (deposit_id);
create index payment_claims_loose on payment_claims (claimed_at) where not committed;

create table payout_claims (
    network      text not null,                          -- CAIP-2
    tx_hash      text not null,
    workspace_id uuid not null,
    refund_id    uuid not null,
    claimed_at   timestamptz not null,
    primary key (network, tx_hash)
);

-- The operator's books: each row moves units from one account to another, so they balance by construction.
-- Outside accounts: payers:NETWORK (deposits), operator (grants and credits), earned (charges, refund fees,
-- forfeits), wallets:NETWORK (payouts). Inside: workspace, and reserved (refunds that are pending).
create view ledger_entries as
    select d.workspace_id, d.resolved_at as at, 'deposit' as kind, d.deposit_id as id,
           'payers:' || d.network as source, 'workspace' as target, d.units
      from deposits d where d.state = 'credited'
    union all
    select j.workspace_id, j.created_at, j.kind, j.adjustment_id,
           case when j.kind = 'forfeit' then 'workspace' else 'operator' end,
           case when j.kind = 'forfeit' then 'earned:forfeits' else 'workspace' end, j.units
      from adjustments j
    union all
    select r.workspace_id, r.requested_at, 'refund_request', r.refund_id, 'workspace', 'reserved', r.units from refunds r
    union all
    select r.workspace_id, r.resolved_at, 'refund_return', r.refund_id, 'reserved', 'workspace', r.units
      from refunds r where r.state = 'rejected'
    union all
    select r.workspace_id, r.resolved_at, 'refund_payout', r.refund_id, 'reserved', 'wallets:' || r.network, r.units - r.fee
      from refunds r where r.state = 'paid'
    union all
    select r.workspace_id, r.resolved_at, 'refund_fee', r.refund_id, 'reserved', 'earned:fees', r.fee
      from refunds r where r.state = 'paid' and r.fee > 0
    union all
    select w.workspace_id, w.last_ts, 'charges', w.workspace_id, 'workspace', 'earned:charges', w.spent
      from workspaces w where w.spent > 0;

insert into schema_migration_marks (version) values (3);
