alter table webhooks drop column prompt;
drop table credit_claims;
drop index deposits_undecided;
delete from schema_migration_marks where version = 10;
