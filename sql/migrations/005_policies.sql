-- Null stands for every schema, or every entity.
create table metl.policy (
    schema_id int constraint policy_for_schema references metl.schema,
    entity_id int constraint policy_for_entity references metl.entity,
    policy text not null constraint policy_kind check (policy in ('auto', 'confirm', 'freeze')),
    set_by text not null default session_user,
    set_at timestamptz not null default clock_timestamp(),
    constraint policy_is_set_once unique nulls not distinct (schema_id, entity_id)
);

-- A waiting update is kept as the call that would make it; nothing of it is in the trees yet.
create table metl.waiting_plan (
    plan_id bigint generated always as identity constraint waiting_plan_pk primary key,
    kind text not null constraint waiting_plan_kind check (kind in ('schema_version', 'entity_version')),
    name text not null,
    version int not null,
    attributes jsonb not null,
    lost jsonb not null,
    created_at timestamptz not null default clock_timestamp(),
    created_by text not null default session_user,
    decision text constraint waiting_plan_decision check (decision in ('confirmed', 'rejected')),
    decided_at timestamptz,
    decided_by text,
    state bigint constraint waiting_plan_became references metl.state,
    constraint waiting_plan_is_decided_whole check ((decision is null) = (decided_at is null))
);
create unique index waiting_plan_is_open_once
on metl.waiting_plan (kind, name, version) where decision is null;

-- The notices of a waiting plan are confirmed with it.
alter table metl.notice add column plan_id bigint constraint notice_of_plan references metl.waiting_plan;
