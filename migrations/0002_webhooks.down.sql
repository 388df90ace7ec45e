alter type tally drop attribute webhooks, drop attribute delivery_spent;
drop table webhook_attempts, webhook_deliveries, webhooks;
alter table workspaces drop column webhooks;
delete from schema_migration_marks where version = 2;
