-- Keys and files, the rows that nearly every call changes, stay quick to find while an old snapshot keeps all
-- their versions.

-- A look-up walks over the old versions of a row until it meets the one that counts. So an era is a part of
-- the index: whoever changes the row sets it to that of the call's log row, of which 1,024 make an era. Eras count
-- down, so the index gives the newest first, and no look-up of one row goes further than its newest era.
-- That a path and a key have one row each is ensured by the workspace's row lock, not by the index.
alter table keys add column era bigint not null default 0;
alter table keys drop constraint keys_pkey, add primary key (workspace_id, key_hash, era);
drop index keys_subkey;
-- Not of owners: so the planner cannot take it for a look-up by key, which it did while it had no statistics.
create index keys_subkey on keys (workspace_id, subkey_id, era) where subkey_id is not null;

alter table files add column era bigint not null default 0;
alter table files drop constraint files_pkey, add primary key (workspace_id, path, era);

alter type admission add attribute era bigint;           -- of seq

insert into schema_migration_marks (version) values (8);
