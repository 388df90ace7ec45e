drop type admission;
drop type tally;
drop table refunds, deposits, adjustments, feedback, activity, messages, locks, file_chunks, files, keys, workspaces;
delete from schema_migration_marks where version = 1;
