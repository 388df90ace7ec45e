alter type tally drop attribute low_at;
alter table workspaces drop column low_at;
alter table webhooks drop column balance_low_units, drop column low_armed;
alter type admission drop attribute limits, drop attribute window_left;
alter table keys drop column limits, drop column rotated_until;
drop type spend_limits;
drop table retired_keys, idempotency_keys;
delete from schema_migration_marks where version = 4;
