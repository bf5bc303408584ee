-- The versions in registries, and the schema version that each became. Deleted ones stay on record.
create table metl.registry_version (
    entry bigint generated always as identity constraint registry_version_pk primary key,
    registry text not null,
    registry_group text not null,
    artifact text not null,
    registry_version text not null,
    artifact_type text,
    -- Ascending in the order in which the versions of an artifact came.
    position bigint not null,
    global_id bigint,
    content_id bigint,
    confluent_id bigint,
    registry_state text,
    -- By the registry's clock, which is not ours.
    created_on timestamptz,
    modified_on timestamptz,
    schema text not null,
    -- Assigned when first seen: a version that can only be read later keeps its place among the others.
    version int,
    outcome text not null constraint registry_version_outcome check (
        outcome in ('pending', 'taken', 'unreadable', 'conflict', 'passed over', 'ended')
    ),
    plan_id bigint constraint registry_version_waits_as references metl.waiting_plan,
    problem text,
    seen_at timestamptz not null default clock_timestamp(),
    gone_at timestamptz,
    constraint registry_version_ends_when_gone check (outcome <> 'ended' or gone_at is not null)
);
create unique index registry_version_is_there_once
on metl.registry_version (registry, registry_group, artifact, registry_version) where gone_at is null;
create index registry_version_by_schema on metl.registry_version (schema, version);
create index registry_version_to_take
on metl.registry_version (registry, position) where outcome = 'pending' and gone_at is null;
create index registry_version_to_end
on metl.registry_version (registry, position) where gone_at is not null and outcome <> 'ended';

create table metl.registry_reading (
    registry text,
    -- Empty for all groups.
    registry_group text,
    read_until timestamptz not null,
    -- By our own clock: how much time has passed since is the same by every clock.
    read_at timestamptz not null,
    constraint registry_reading_pk primary key (registry, registry_group)
);

create type metl.registry_event as (
    event text, schema text, version int,
    registry_group text, artifact text, registry_version text, registry_state text,
    state bigint, kept int, lost int, plan_id bigint, problem text
);
-- Reading registries leaves notices as well.
alter table metl.notice
drop constraint notice_kind,
add constraint notice_kind check (
    kind in (
        'shrunk', 'vanished', 'type_changed', 'came_back', 'unchanged', 'frozen', 'waiting', 'unreadable', 'conflict'
    )
);
