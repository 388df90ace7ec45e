-- The people who run the service: who they are, where they are logged in, and what they did. None of it is a tenant's.

create table operators (
    operator_id   uuid primary key,
    email         text not null,
    name          text not null,
    role          text not null check (role in ('viewer', 'operator', 'admin')),
    password_hash text not null,                         -- argon2id
    created_at    timestamptz not null,
    last_login_at timestamptz,
    disabled_at   timestamptz
);
create unique index operators_email on operators (lower(email));

create table operator_sessions (
    token_hash   bytea primary key,                      -- SHA-256 of what the browser has
    operator_id  uuid not null references operators,
    created_at   timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at   timestamptz not null,                   -- whatever is done in it
    address      text not null
);
create index operator_sessions_operator on operator_sessions (operator_id);

-- Browsers and networks from which an operator has logged in: those are never refused on account of strangers.
create table operator_devices (
    token_hash    bytea primary key,                     -- SHA-256 of the browser's cookie
    operator_id   uuid not null references operators,
    network       text not null,
    created_at    timestamptz not null,
    last_login_at timestamptz not null
);
create index operator_devices_operator on operator_devices (operator_id, network);

-- What operators did. Rows are only ever added: the trigger refuses everything else, to everybody.
create table operator_audit (
    audit_id     uuid primary key,
    at           timestamptz not null,
    actor        text not null,                          -- an email address, or cli: and the machine's user
    operator_id  uuid,                                   -- null: the command line
    action       text not null,
    subject_kind text not null,
    subject_id   text not null,
    workspace    uuid,
    reason       text not null,
    before       jsonb,
    after        jsonb,
    address      text not null                           -- empty: the command line
);
create index operator_audit_at on operator_audit (at, audit_id);
create index operator_audit_actor on operator_audit (actor, at, audit_id);
create index operator_audit_action on operator_audit (action, at, audit_id);
create index operator_audit_subject on operator_audit (subject_id, at, audit_id);
create index operator_audit_workspace on operator_audit (workspace, at, audit_id);

create function operator_audit_stays() returns trigger language plpgsql as $$
begin
    raise exception 'the audit log is only ever added to';
end $$;
create trigger operator_audit_stays before update or delete or truncate on operator_audit
    for each statement execute function operator_audit_stays();

alter table feedback
    add column notes      text not null default '',      -- the operators' own
    add column triaged_at timestamptz;
create index feedback_triage on feedback (status, pledged_budget_usd, created_at, feedback_id);
create index feedback_id on feedback (feedback_id);

create index webhooks_failing on webhooks (failures, webhook_id) where deleted_at is null and (failures > 0 or not active);
create index webhooks_id on webhooks (webhook_id);

insert into schema_migration_marks (version) values (6);
