drop index webhooks_id, webhooks_failing, feedback_id, feedback_triage;
alter table feedback drop column notes, drop column triaged_at;
drop table operator_audit, operator_devices, operator_sessions, operators;
drop function operator_audit_stays();
delete from schema_migration_marks where version = 6;
