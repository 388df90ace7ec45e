drop view ledger_entries;
drop table payout_claims, payment_claims;
drop index refunds_id, refunds_pending, deposits_id, deposits_open;
alter table refunds drop column fee, drop column stays, drop column tx_hash, drop column checked, drop column reason, drop column resolved_by;
alter table deposits drop column payment_key, drop column payer, drop column payment, drop column facilitator, drop column attempt,
    drop column settling_at, drop column tx_hash, drop column reason, drop column resolved_by;
delete from schema_migration_marks where version = 3;
