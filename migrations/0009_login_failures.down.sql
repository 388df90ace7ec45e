drop index webhook_hosts_host;
create index webhook_hosts_host on webhook_hosts (host);
drop table login_failures;
delete from schema_migration_marks where version = 9;
