drop table replicas, lock_tickets;
alter table locks drop column waiters, drop column last_ticket, drop column reserved_for, drop column reserved_until;
delete from schema_migration_marks where version = 5;
