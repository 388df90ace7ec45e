alter type admission drop attribute era;
alter table files drop constraint files_pkey, add primary key (workspace_id, path);
alter table files drop column era;
drop index keys_subkey;
create index keys_subkey on keys (workspace_id, subkey_id);
alter table keys drop constraint keys_pkey, add primary key (workspace_id, key_hash);
alter table keys drop column era;
delete from schema_migration_marks where version = 8;
