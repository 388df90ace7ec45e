drop table rollup_state, answer_hours, answer_minutes, log_hours, log_minutes, workspace_totals, workspace_hours, workspace_rollups, webhook_hosts;
drop index refunds_destination, refunds_tx, deposits_payer, deposits_tx, deposits_created, keys_last4, keys_id,
    workspaces_label, workspaces_blocked, workspaces_alive;
alter table workspaces drop column changed_hour;
delete from schema_migration_marks where version = 7;
