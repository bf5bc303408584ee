-- sql/install.sql and all that it includes, as of the last commit before migrations had checksums.
-- sql/migrations/001_states.sql
-- What is there already is not worth a word each time.
set client_min_messages = warning;

-- Every migration may be run again and then changes nothing.
create schema if not exists metl;
comment on schema metl is 'The mapping matrix of METL: trees, unique blocks, Auto-Update, states, search.';

create table if not exists metl.migration (
    number int constraint migration_pk primary key,
    name text not null,
    applied_at timestamptz not null default now()
);
comment on table metl.migration is 'Which numbered files of sql/migrations have been applied.';

-- One row. Whoever changes anything updates it first, which lines writers up and leaves no gap in the numbers.
create table if not exists metl.clock (
    only_row boolean default true constraint clock_pk primary key constraint clock_has_one_row check (only_row),
    state bigint not null
);
comment on table metl.clock is 'The current state; its row lock makes writers take turns.';
insert into metl.clock (state) values (0) on conflict do nothing;

create table if not exists metl.state (
    state bigint constraint state_pk primary key constraint state_is_positive check (state > 0),
    cause text not null,
    who text not null default session_user,
    at timestamptz not null default clock_timestamp(),
    summary jsonb not null
);
comment on table metl.state is 'One row per change of trees or matrix: what caused it, by whom, when.';

insert into metl.migration (number, name) values (1, 'states') on conflict do nothing;
-- sql/migrations/002_trees.sql
create table if not exists metl.type (
    type text constraint type_pk primary key,
    description text not null
);
comment on table metl.type is 'The generalized types of the canonical data model.';

create table if not exists metl.accepted_type (
    source_type text constraint accepted_type_pk primary key,
    type text not null constraint accepted_type_of references metl.type
);
comment on table metl.accepted_type is
'Which types of extraction schemas each generalized type accepts. Add rows for types of your own.';

-- Extraction schemas ---------------------------------------------------------------------------
create table if not exists metl.schema (
    schema_id int generated always as identity constraint schema_pk primary key,
    name text not null constraint schema_name_is_unique unique
);
comment on table metl.schema is 'Extraction schemas: one table or event of a service each.';

create table if not exists metl.schema_version (
    schema_id int constraint schema_version_of references metl.schema,
    version int constraint schema_version_is_positive check (version > 0),
    added bigint not null constraint schema_version_added_by references metl.state,
    deleted bigint constraint schema_version_deleted_by references metl.state,
    constraint schema_version_pk primary key (schema_id, version),
    constraint schema_version_lives_before_it_dies check (deleted > added)
);
comment on table metl.schema_version is
'Versions of extraction schemas. Deleted ones stay, so that old states remain readable and numbers are not reused.';

-- An attribute that stays the same through versions, whatever its name, is one row here.
create table if not exists metl.attribute (
    attribute_id bigint generated always as identity constraint attribute_pk primary key,
    schema_id int not null constraint attribute_of references metl.schema,
    type text not null constraint attribute_type references metl.type
);
comment on table metl.attribute is 'The identity of an attribute through the versions of its schema.';

create table if not exists metl.attribute_version (
    attribute_id bigint constraint attribute_version_of references metl.attribute,
    version int,
    schema_id int not null,
    name text not null,
    position int not null,
    source_type text not null,
    optional boolean not null,
    description text,
    renamed_from text,
    constraint attribute_version_pk primary key (attribute_id, version),
    constraint attribute_version_in foreign key (schema_id, version) references metl.schema_version,
    constraint attribute_name_is_unique unique (schema_id, version, name)
);
comment on table metl.attribute_version is
'An attribute as it appears in one version: its name, its type at the source.';

-- Entities of the canonical data model -----------------------------------------------------------
create table if not exists metl.entity (
    entity_id int generated always as identity constraint entity_pk primary key,
    name text not null constraint entity_name_is_unique unique
);
comment on table metl.entity is 'Business entities of the canonical data model.';

create table if not exists metl.entity_version (
    entity_id int constraint entity_version_of references metl.entity,
    version int constraint entity_version_is_positive check (version > 0),
    added bigint not null constraint entity_version_added_by references metl.state,
    deleted bigint constraint entity_version_deleted_by references metl.state,
    constraint entity_version_pk primary key (entity_id, version),
    constraint entity_version_lives_before_it_dies check (deleted > added)
);
comment on table metl.entity_version is 'Versions of entities; at most one of an entity is live.';
-- A schema version maps to one version of an entity because there is only one to map to.
create unique index if not exists entity_has_one_live_version on metl.entity_version (entity_id) where deleted is null;
comment on index metl.entity_has_one_live_version is 'An entity has at most one live version.';

create table if not exists metl.entity_attribute (
    entity_attribute_id bigint generated always as identity constraint entity_attribute_pk primary key,
    entity_id int not null constraint entity_attribute_of references metl.entity,
    type text not null constraint entity_attribute_type references metl.type
);
comment on table metl.entity_attribute is 'The identity of an entity attribute through the versions of its entity.';

create table if not exists metl.entity_attribute_version (
    entity_attribute_id bigint constraint entity_attribute_version_of references metl.entity_attribute,
    version int,
    entity_id int not null,
    name text not null,
    position int not null,
    optional boolean not null,
    description text,
    renamed_from text,
    constraint entity_attribute_version_pk primary key (entity_attribute_id, version),
    constraint entity_attribute_version_in foreign key (entity_id, version) references metl.entity_version,
    constraint entity_attribute_name_is_unique unique (entity_id, version, name)
);
comment on table metl.entity_attribute_version is 'An entity attribute as it appears in one version of its entity.';

insert into metl.migration (number, name) values (2, 'trees') on conflict do nothing;
-- sql/migrations/003_matrix.sql
-- The DUSB: for each schema, entity and entity version, only the blocks that differ from the one
-- stored before, by ascending version. A block without cells is a null block: it ends a run.
-- Ended blocks stay, so that old states remain readable.
create table if not exists metl.block (
    block_id bigint generated always as identity constraint block_pk primary key,
    schema_id int not null,
    version int not null,
    entity_id int not null,
    entity_version int not null,
    since bigint not null constraint block_since references metl.state,
    until bigint constraint block_until references metl.state,
    constraint block_from foreign key (schema_id, version) references metl.schema_version,
    constraint block_to foreign key (entity_id, entity_version) references metl.entity_version,
    constraint block_ends_after_it_begins check (until > since)
);
comment on table metl.block is 'The unique blocks of the matrix, each stored at the version where its run begins.';
create unique index if not exists block_is_stored_once
on metl.block (schema_id, entity_id, entity_version, version) where until is null;
comment on index metl.block_is_stored_once is 'One current block per schema version and entity version.';
create index if not exists block_by_entity on metl.block (entity_id, entity_version) where until is null;
comment on index metl.block_by_entity is 'For the reverse search: what feeds an entity version.';

create table if not exists metl.cell (
    block_id bigint constraint cell_of references metl.block,
    attribute_id bigint constraint cell_from references metl.attribute,
    entity_attribute_id bigint not null constraint cell_to references metl.entity_attribute,
    -- A block is 1:1 both ways.
    constraint cell_pk primary key (block_id, attribute_id),
    constraint cell_entity_attribute_is_mapped_once unique (block_id, entity_attribute_id)
);
comment on table metl.cell is 'The ones of each stored block.';

insert into metl.migration (number, name) values (3, 'matrix') on conflict do nothing;
-- sql/migrations/004_notices.sql
create table if not exists metl.notice (
    notice_id bigint generated always as identity constraint notice_pk primary key,
    state bigint not null,
    kind text not null constraint notice_kind check (
        kind in ('shrunk', 'vanished', 'type_changed', 'came_back', 'unchanged', 'frozen', 'waiting')
    ),
    schema text,
    version int,
    entity text,
    entity_version int,
    lost jsonb not null constraint notice_lost_is_an_array check (jsonb_typeof(lost) = 'array'),
    created_at timestamptz not null default clock_timestamp(),
    confirmed_at timestamptz,
    confirmed_by text
);
comment on table metl.notice is 'What Auto-Update has to tell a steward.';
create index if not exists notice_by_state on metl.notice (state);
comment on index metl.notice_by_state is 'For the notices of one change.';

insert into metl.migration (number, name) values (4, 'notices') on conflict do nothing;
-- sql/migrations/005_policies.sql
-- Null stands for every schema, or every entity.
create table if not exists metl.policy (
    schema_id int constraint policy_for_schema references metl.schema,
    entity_id int constraint policy_for_entity references metl.entity,
    policy text not null constraint policy_kind check (policy in ('auto', 'confirm', 'freeze')),
    set_by text not null default session_user,
    set_at timestamptz not null default clock_timestamp(),
    constraint policy_is_set_once unique nulls not distinct (schema_id, entity_id)
);
comment on table metl.policy is 'How far Auto-Update may go by itself, for each schema and entity.';

-- An update that waits is kept as the call that would make it; nothing of it is in the trees yet.
create table if not exists metl.waiting_plan (
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
comment on table metl.waiting_plan is 'Updates that would lose cells under policy confirm, and what was decided.';
create unique index if not exists waiting_plan_is_open_once
on metl.waiting_plan (kind, name, version) where decision is null;
comment on index metl.waiting_plan_is_open_once is 'A version waits at most once.';

-- Notices of a waiting plan are settled with it.
alter table metl.notice add column if not exists plan_id bigint constraint notice_of_plan references metl.waiting_plan;

insert into metl.migration (number, name) values (5, 'policies') on conflict do nothing;
-- sql/migrations/006_row_types.sql
-- Row types that functions hand to each other.
do $$
begin
    if to_regtype('metl._given_attribute') is null then
        create type metl._given_attribute as (
            position int, name text, source_type text, type text,
            optional boolean, description text, renamed_from text
        );
    end if;
    if to_regtype('metl._known_attribute') is null then
        create type metl._known_attribute as (id bigint, name text, type text, renamed_from text);
    end if;
    if to_regtype('metl._cell_fate') is null then
        create type metl._cell_fate as (
            schema_id int, version int, entity_id int, entity_version int,
            attribute_id bigint, entity_attribute_id bigint,
            schema text, entity text, attribute text, entity_attribute text,
            fate text, reason text
        );
    end if;
    if to_regtype('metl.planned_cell') is null then
        create type metl.planned_cell as (
            schema text, version int, entity text, entity_version int,
            attribute text, entity_attribute text, fate text, reason text
        );
    end if;
    if to_regtype('metl._block_content') is null then
        create type metl._block_content as (
            schema_id int, version int, entity_id int, entity_version int, content bigint[]
        );
    end if;
end $$;
comment on type metl._given_attribute is 'An attribute as somebody asks for it, validated.';
comment on type metl._known_attribute is 'An attribute of a neighbouring version.';
comment on type metl.planned_cell is
'What an update does to one cell: fate is kept, lost, gained or suggested; reason says why, and of one that is gained '
'whether its values may not fit.';
comment on type metl._cell_fate is 'The same with the ids.';
comment on type metl._block_content is
'What one block is to contain: pairs {attribute_id, entity_attribute_id} by ascending attribute_id; '
'{} maps nothing, null is not stored.';

insert into metl.migration (number, name) values (6, 'row types') on conflict do nothing;
-- sql/migrations/007_refs.sql
-- By what messages on the wire say which version they are of. Ended ones stay, as blocks do.
create table if not exists metl.schema_ref (
    schema_id int not null,
    version int not null,
    kind text not null constraint schema_ref_kind check (
        kind in ('global_id', 'content_id', 'confluent_id', 'confluent_guid', 'fingerprint')
    ),
    ref text not null,
    since bigint not null constraint schema_ref_since references metl.state,
    until bigint constraint schema_ref_until references metl.state,
    constraint schema_ref_pk primary key (schema_id, version, kind, ref, since),
    constraint schema_ref_of foreign key (schema_id, version) references metl.schema_version,
    constraint schema_ref_ends_after_it_begins check (until > since)
);
comment on table metl.schema_ref is 'The ids and fingerprints by which messages name a schema version.';
create unique index if not exists schema_ref_is_current_once
on metl.schema_ref (schema_id, version, kind, ref) where until is null;
comment on index metl.schema_ref_is_current_once is 'A version has each of its refs once.';
create unique index if not exists global_id_names_one_version
on metl.schema_ref (schema_id, ref) where kind = 'global_id' and until is null;
comment on index metl.global_id_names_one_version is
'The other kinds may name several versions: a column added and removed again gives the same content.';

-- A version that waits keeps its refs until it is decided.
alter table metl.waiting_plan add column if not exists refs jsonb not null default '{}';
drop function if exists metl._add_schema_version(text, int, jsonb, jsonb);
drop function if exists metl._wait(text, text, int, jsonb, metl._cell_fate[]);

-- What changed since a state is found at the cost of what changed.
create index if not exists block_by_since on metl.block (since);
create index if not exists block_by_until on metl.block (until) where until is not null;
create index if not exists schema_version_by_added on metl.schema_version (added);
create index if not exists schema_version_by_deleted on metl.schema_version (deleted) where deleted is not null;
create index if not exists schema_ref_by_since on metl.schema_ref (since);
create index if not exists schema_ref_by_until on metl.schema_ref (until) where until is not null;
comment on index metl.block_by_since is 'For metl.schema_changes.';
comment on index metl.block_by_until is 'For metl.schema_changes.';
comment on index metl.schema_version_by_added is 'For metl.schema_changes.';
comment on index metl.schema_version_by_deleted is 'For metl.schema_changes.';
comment on index metl.schema_ref_by_since is 'For metl.schema_changes.';
comment on index metl.schema_ref_by_until is 'For metl.schema_changes.';

insert into metl.migration (number, name) values (7, 'refs') on conflict do nothing;
-- sql/migrations/008_topics.sql
-- How the messages of topics are read. Ended rules stay, as blocks do.
create table if not exists metl.topic_rule (
    pattern text not null,
    format text not null constraint topic_rule_format check (
        format in ('ext_json', 'ext_json_content_id', 'apicurio', 'apicurio_2', 'confluent', 'connect', 'plain')
    ),
    payload text not null constraint topic_rule_payload check (payload in ('debezium', 'flat')),
    schema_id int constraint topic_rule_carries references metl.schema,
    version int,
    since bigint not null constraint topic_rule_since references metl.state,
    until bigint constraint topic_rule_until references metl.state,
    constraint topic_rule_pk primary key (pattern, since),
    constraint topic_rule_schema_is_of_one_topic check (schema_id is null or pattern not like '%*%'),
    constraint topic_rule_version_is_of_plain check (version is null or format = 'plain'),
    constraint topic_rule_ends_after_it_begins check (until > since)
);
comment on table metl.topic_rule is 'How the messages of a topic, or of all that match a pattern, are read.';
create unique index if not exists topic_rule_is_current_once on metl.topic_rule (pattern) where until is null;
comment on index metl.topic_rule_is_current_once is 'A pattern has one rule.';

insert into metl.migration (number, name) values (8, 'topics') on conflict do nothing;
-- sql/migrations/009_jobs.sql
-- What runs, and how it goes. None of it belongs to a state: jobs never wait for who changes the matrix.
create table if not exists metl.job (
    job text constraint job_pk primary key,
    checkpoint text not null,
    instance uuid not null,
    about jsonb not null default '{}' constraint job_about_is_an_object check (jsonb_typeof(about) = 'object'),
    started_at timestamptz not null default clock_timestamp(),
    status text not null default 'starting' constraint job_status check (
        status in ('starting', 'running', 'retrying', 'stopping', 'stopped', 'halted', 'failed')
    ),
    status_at timestamptz not null default clock_timestamp(),
    reason text,
    stop_requested boolean not null default false
);
comment on table metl.job is 'The jobs that map messages, each with the instance of it that was started last.';

-- Totals are kept here and not in metl.job, where whoever stops a job in an open transaction would hold batches up.
create table if not exists metl.job_instance (
    job text constraint job_instance_of references metl.job,
    instance uuid,
    rows_in bigint not null default 0,
    rows_out bigint not null default 0,
    rows_filtered bigint not null default 0,
    dead jsonb not null default '{}',
    constraint job_instance_pk primary key (job, instance)
);
comment on table metl.job_instance is
'Every instance that ever ran a job, so that one that was superseded is known as such, and what it has done.';

create table if not exists metl.job_batch (
    job text,
    instance uuid,
    batch bigint,
    -- No reference: state 0, the empty matrix, is no row of metl.state.
    state bigint not null,
    began_at timestamptz not null,
    ended_at timestamptz not null,
    rows_in bigint not null,
    rows_out bigint not null,
    rows_filtered bigint not null,
    dead jsonb not null default '{}',
    latency_ms jsonb,
    matrix_rows bigint,
    matrix_bytes bigint,
    lag bigint,
    positions jsonb not null default '{}',
    constraint job_batch_pk primary key (job, instance, batch),
    constraint job_batch_of foreign key (job, instance) references metl.job_instance
);
comment on table metl.job_batch is 'What each batch of a job did.';
create index if not exists job_batch_by_end on metl.job_batch (job, ended_at, batch);
comment on index metl.job_batch_by_end is 'For the last batch of a job.';
create index if not exists job_batch_with_latency on metl.job_batch (job, ended_at, batch) where latency_ms is not null;
comment on index metl.job_batch_with_latency is 'For the last batch in which messages came, however long ago.';

insert into metl.migration (number, name) values (9, 'jobs') on conflict do nothing;
-- sql/migrations/010_registry.sql
-- What registries have, and what became of it here. Versions that went from the registry stay on record.
create table if not exists metl.registry_version (
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
    -- Kept from the first look on: a version that can only be read later keeps its place among the others.
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
comment on table metl.registry_version is
'Every version that was ever seen in a registry, and which version of which schema it became.';
create unique index if not exists registry_version_is_there_once
on metl.registry_version (registry, registry_group, artifact, registry_version) where gone_at is null;
comment on index metl.registry_version_is_there_once is
'A registry has a version once; one that was deleted and made anew is another.';
create index if not exists registry_version_by_schema on metl.registry_version (schema, version);
comment on index metl.registry_version_by_schema is 'For what the registry has of a schema.';
create index if not exists registry_version_to_take
on metl.registry_version (registry, position) where outcome = 'pending' and gone_at is null;
comment on index metl.registry_version_to_take is 'For what is left to do, whatever the size of the registry.';
create index if not exists registry_version_to_end
on metl.registry_version (registry, position) where gone_at is not null and outcome <> 'ended';
comment on index metl.registry_version_to_end is 'For what is left to do, whatever the size of the registry.';

create table if not exists metl.registry_reading (
    registry text,
    -- Empty for all groups.
    registry_group text,
    read_until timestamptz not null,
    -- By our own clock: how much time has passed since is the same by every clock.
    read_at timestamptz not null,
    constraint registry_reading_pk primary key (registry, registry_group)
);
comment on table metl.registry_reading is 'Up to which moment everything is known that happened in a registry.';

do $$
begin
    if to_regtype('metl.registry_event') is null then
        create type metl.registry_event as (
            event text, schema text, version int,
            registry_group text, artifact text, registry_version text, registry_state text,
            state bigint, kept int, lost int, plan_id bigint, problem text
        );
    end if;
    -- Beside Auto-Update, reading registries has something to tell as well.
    if not exists (
        select from pg_constraint
        where
            conrelid = 'metl.notice'::regclass
            and conname = 'notice_kind'
            and pg_get_constraintdef(oid) like '%unreadable%'
    ) then
        alter table metl.notice
        drop constraint notice_kind,
        add constraint notice_kind check (
            kind in (
                'shrunk', 'vanished', 'type_changed', 'came_back', 'unchanged', 'frozen', 'waiting',
                'unreadable', 'conflict'
            )
        );
    end if;
end $$;
comment on type metl.registry_event is 'What became of a version of a registry, and what Auto-Update did.';

insert into metl.migration (number, name) values (10, 'registry') on conflict do nothing;
-- sql/migrations/011_entities.sql
-- What an entity means is said with each of its versions, as it is of attributes.
alter table metl.entity_version add column if not exists description text;
-- A version that waits keeps it until it is decided.
alter table metl.waiting_plan add column if not exists description text;
drop function if exists metl._add_entity_version(text, int, jsonb, jsonb);
drop function if exists metl._insert_entity_version(bigint, text, int, metl._given_attribute[]);
drop function if exists metl._wait(text, text, int, jsonb, jsonb, metl._cell_fate[]);

do $$
begin
    if to_regtype('metl.mapping_line') is null then
        -- Versions are text, so that one that is no number can be named with the line it is in.
        create type metl.mapping_line as (
            line int, schema text, version text, attribute text,
            entity text, entity_version text, entity_attribute text
        );
    end if;
    if to_regtype('metl._read_line') is null then
        create type metl._read_line as (
            line int, schema text, version text, attribute text,
            entity text, entity_version text, entity_attribute text,
            schema_id int, live_version int, attribute_id bigint,
            entity_id int, live_entity_version int, entity_attribute_id bigint, is_empty boolean
        );
    end if;
end $$;
comment on type metl.mapping_line is
'One cell as somebody lists it, such as a line of a file; without both attributes: the block maps nothing.';
comment on type metl._read_line is 'The same with the ids of what it names.';

insert into metl.migration (number, name) values (11, 'entities') on conflict do nothing;
-- sql/migrations/012_warehouse.sql
-- Entities as tables. The tables themselves are in schema warehouse and made when their first record comes.
create schema if not exists warehouse;
comment on schema warehouse is
'Entities as tables, one row for each key of each source, filled from the entity topics by metl warehouse.';

create table if not exists metl.warehouse_table (
    entity_id int constraint warehouse_table_pk primary key constraint warehouse_table_of references metl.entity,
    name text not null constraint warehouse_table_name_is_unique unique,
    entity_version int not null
);
comment on table metl.warehouse_table is
'The table of each entity, and of which version of it the table has the shape.';

create table if not exists metl.warehouse_column (
    entity_attribute_id bigint
    constraint warehouse_column_pk primary key
    constraint warehouse_column_of references metl.entity_attribute,
    entity_id int not null constraint warehouse_column_in references metl.warehouse_table,
    name text not null,
    retired boolean not null default false
);
comment on table metl.warehouse_column is
'The column of each attribute. Attributes that only differ in type have the same one; those that are no longer part '
'of their entity are retired.';

create table if not exists metl.warehouse_truncate (
    entity_id int constraint warehouse_truncate_of references metl.warehouse_table,
    source text,
    partition int,
    "offset" bigint not null,
    at bigint not null,
    constraint warehouse_truncate_pk primary key (entity_id, source, partition)
);
comment on table metl.warehouse_truncate is
'When each source was truncated last, so that older rows that come again stay deleted.';

create table if not exists warehouse._rejected (
    entity text,
    source text,
    partition int,
    "offset" bigint,
    state bigint,
    key text,
    reason text not null,
    constraint rejected_is_once unique nulls not distinct (entity, source, partition, "offset", state)
);
comment on table warehouse._rejected is
'Records that are in no table of the warehouse because a value of theirs does not fit, and why.';

insert into metl.migration (number, name) values (12, 'warehouse') on conflict do nothing;
-- sql/migrations/013_dead_letters.sql
-- What somebody did to the streams by hand, or METL by itself, and why. None of it belongs to a state.
create table if not exists metl.operation (
    operation bigint generated always as identity constraint operation_pk primary key,
    kind text not null constraint operation_kind check (
        kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess')
    ),
    who text not null default session_user,
    why text not null constraint operation_says_why check (why ~ '\S'),
    about jsonb not null default '{}' constraint operation_about_is_an_object check (jsonb_typeof(about) = 'object'),
    began_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    outcome jsonb
);
comment on table metl.operation is 'What was sent again, reset, snapshot or reprocessed: by whom, when and why.';

-- One row for each message that could not be mapped, however often it came back. Rows are never deleted.
create table if not exists metl.dead_letter (
    letter bigint generated always as identity constraint dead_letter_pk primary key,
    topic text not null,
    partition int not null,
    message_offset bigint not null,
    -- A topic that was made anew counts its offsets anew.
    content bytea not null,
    reason text not null,
    schema text,
    version text,
    ref text,
    state bigint,
    job text,
    message_at timestamptz,
    first_at timestamptz not null,
    last_at timestamptz not null,
    times bigint not null default 1,
    replays int not null default 0,
    status text not null default 'dead' constraint dead_letter_status check (status in ('dead', 'sent', 'given_up')),
    sent_at timestamptz,
    operation bigint constraint dead_letter_last_done_by references metl.operation,
    key bytea,
    value bytea,
    headers jsonb,
    constraint dead_letter_is_one_message unique (topic, partition, message_offset, content)
);
comment on table metl.dead_letter is 'Messages that could not be mapped, with their payload until somebody purges it.';
create index if not exists dead_letter_by_status on metl.dead_letter (status, reason, topic);
comment on index metl.dead_letter_by_status is 'For what waits, and for what a new state makes known.';

create table if not exists metl.dead_position (
    topic text,
    partition int,
    next_offset bigint not null,
    at timestamptz not null default clock_timestamp(),
    constraint dead_position_pk primary key (topic, partition)
);
comment on table metl.dead_position is
'How far the topics of dead letters are collected, written together with the letters.';

insert into metl.migration (number, name) values (13, 'dead letters') on conflict do nothing;
-- sql/migrations/014_initial_loads.sql
-- Rows that come into the warehouse by SQL are an operation, too. Once: a later migration knows more kinds.
do $$
begin
    if not exists (select from metl.migration where number = 14) then
        alter table metl.operation drop constraint operation_kind;
        alter table metl.operation add constraint operation_kind check (
            kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load')
        );
    end if;
end $$;

insert into metl.migration (number, name) values (14, 'initial loads') on conflict do nothing;
-- sql/migrations/015_fresh_rows.sql
-- Has another column now: one for rows that are not there yet.
drop function if exists metl._warehouse_statements(text, text, text, bigint, text, int);

insert into metl.migration (number, name) values (15, 'fresh rows') on conflict do nothing;
-- sql/migrations/016_loads.sql
-- Messages that somebody chooses to be loaded, by --from or --until, are an operation, too. Once: a later migration
-- knows more kinds.
do $$
begin
    if not exists (select from metl.migration where number = 16) then
        alter table metl.operation drop constraint operation_kind;
        alter table metl.operation add constraint operation_kind check (
            kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load')
        );
    end if;
end $$;

insert into metl.migration (number, name) values (16, 'loads') on conflict do nothing;
-- sql/migrations/017_connectors.sql
-- What people do to connectors is an operation, too. Once: a later migration may know more kinds.
do $$
begin
    if not exists (select from metl.migration where number = 17) then
        alter table metl.operation drop constraint operation_kind;
        alter table metl.operation add constraint operation_kind check (
            kind in (
                'replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load',
                'capture_remove', 'capture_restart'
            )
        );
    end if;
end $$;

-- How connectors were when somebody looked last. None of it belongs to a state.
create table if not exists metl.connector (
    connect_url text,
    connector text,
    prefix text,
    status text not null constraint connector_status check (
        status in ('running', 'paused', 'stopped', 'restarting', 'unassigned', 'failed', 'unreachable')
    ),
    problem text,
    way_out text,
    tasks jsonb not null default '[]' constraint connector_tasks_is_an_array check (jsonb_typeof(tasks) = 'array'),
    tables text[] not null default '{}',
    slot text,
    behind_bytes bigint,
    wal_bytes bigint,
    last_event_at timestamptz,
    reported_at timestamptz not null default clock_timestamp(),
    constraint connector_pk primary key (connect_url, connector),
    constraint connector_problem_has_a_way_out check ((problem is null) = (way_out is null))
);
comment on table metl.connector is 'The connectors of change data capture, as they were when somebody looked last.';

insert into metl.migration (number, name) values (17, 'connectors') on conflict do nothing;
-- sql/migrations/018_decisions.sql
-- What looks like a rename is kept beside the losses that it would spare, and what somebody made of it.
alter table metl.waiting_plan
add column if not exists likely_renames jsonb not null default '[]',
add column if not exists renames jsonb;
alter table metl.notice add column if not exists likely_renames jsonb not null default '[]';

-- What becomes of values in the warehouse that nothing feeds any more.
create table if not exists metl.column_policy (
    entity_attribute_id bigint
    constraint column_policy_pk primary key
    constraint column_policy_for references metl.entity_attribute,
    policy text not null constraint column_policy_kind check (policy in ('keep', 'clear')),
    set_by text not null default session_user,
    set_at timestamptz not null default clock_timestamp()
);
comment on table metl.column_policy is
'Whether rows of a schema that does not feed an entity attribute any more keep the values that they had.';

-- The state that the comments on the columns are of.
alter table metl.warehouse_table add column if not exists described bigint;

create table if not exists metl.warehouse_clearing (
    entity_attribute_id bigint constraint warehouse_clearing_of references metl.warehouse_column,
    schema_id int constraint warehouse_clearing_from references metl.schema,
    next_block bigint not null default 0,
    end_block bigint not null,
    constraint warehouse_clearing_pk primary key (entity_attribute_id, schema_id)
);
comment on table metl.warehouse_clearing is
'Columns that are null in the rows of a schema, since it does not feed them any more and the policy is clear; up to '
'which page of the table older values were cleared.';

-- These take more, or say more.
drop function if exists metl.confirm_plan(bigint);
drop function if exists metl._tell(bigint, metl._cell_fate[], boolean);
drop function if exists metl._wait(text, text, int, jsonb, jsonb, metl._cell_fate[], text);
do $$
begin
    if not exists (
        select from pg_proc
        where oid = to_regprocedure('metl.coverage(text, int)') and 'unfed' = any(proargnames)
    ) then
        drop function if exists metl.coverage(text, int);
    end if;
end $$;

insert into metl.migration (number, name) values (18, 'decisions') on conflict do nothing;
-- sql/migrations/019_progress.sql
-- metl.outdated says of which versions the messages are.
drop function if exists metl.outdated(bigint);

-- How far behind a job is in time. A backlog's age is no latency of the job's.
alter table metl.job_batch add column if not exists behind_ms bigint;

insert into metl.migration (number, name) values (19, 'progress') on conflict do nothing;
-- sql/types.sql
-- The generalized types and what they accept: Kafka Connect, Debezium, Avro, JSON Schema and SQL names.
insert into metl.type (type, description) values
('integer', 'Whole numbers of any size.'),
('decimal', 'Exact numbers with a fraction, money among them.'),
('float', 'Approximate numbers, as measured.'),
('boolean', 'True or false.'),
('string', 'Text of any length.'),
('bytes', 'Binary data.'),
('date', 'A day of the calendar.'),
('time', 'A time of day.'),
('timestamp', 'A moment.'),
('interval', 'A length of time.'),
('uuid', 'A universally unique identifier.'),
('json', 'A JSON document.'),
('object', 'A structure with named fields.'),
('array', 'A list of values.'),
('geometry', 'A shape in space.'),
('any', 'A value of any type.')
on conflict do nothing;

insert into metl.accepted_type (source_type, type)
select lower(source_type), generalized.type
from (values
    ('integer', array[
        'integer', 'int', 'int2', 'int4', 'int8', 'int16', 'int32', 'int64', 'long', 'short', 'byte',
        'smallint', 'bigint', 'tinyint', 'mediumint', 'serial', 'bigserial', 'smallserial', 'year', 'oid',
        'int unsigned', 'bigint unsigned', 'smallint unsigned', 'tinyint unsigned', 'mediumint unsigned',
        'io.debezium.time.year'
    ]),
    ('decimal', array[
        'decimal', 'numeric', 'number', 'money', 'big_decimal', 'big-decimal',
        'org.apache.kafka.connect.data.decimal', 'io.debezium.data.variablescaledecimal'
    ]),
    ('float', array['float', 'float4', 'float8', 'float32', 'float64', 'double', 'double precision', 'real']),
    ('boolean', array['boolean', 'bool']),
    ('string', array[
        'string', 'text', 'varchar', 'character varying', 'char', 'character', 'bpchar', 'name', 'citext', 'enum',
        'xml', 'inet', 'cidr', 'macaddr', 'macaddr8', 'tsvector', 'set', 'varchar2', 'nvarchar2', 'nvarchar',
        'nchar', 'clob', 'tinytext', 'mediumtext', 'longtext',
        'io.debezium.data.enum', 'io.debezium.data.enumset', 'io.debezium.data.xml', 'io.debezium.data.ltree',
        'io.debezium.data.tsvector'
    ]),
    ('bytes', array[
        'bytes', 'bytea', 'binary', 'varbinary', 'blob', 'tinyblob', 'mediumblob', 'longblob', 'fixed', 'bit',
        'varbit', 'bit varying',
        'io.debezium.data.bits'
    ]),
    ('date', array['date', 'io.debezium.time.date', 'io.debezium.time.isodate', 'org.apache.kafka.connect.data.date']),
    ('time', array[
        'time', 'timetz', 'time without time zone', 'time with time zone', 'time-millis', 'time-micros',
        'io.debezium.time.time', 'io.debezium.time.microtime', 'io.debezium.time.nanotime',
        'io.debezium.time.zonedtime', 'io.debezium.time.isotime', 'org.apache.kafka.connect.data.time'
    ]),
    ('timestamp', array[
        'timestamp', 'timestamptz', 'timestamp without time zone', 'timestamp with time zone', 'datetime', 'date-time',
        'timestamp-millis', 'timestamp-micros', 'timestamp-nanos',
        'local-timestamp-millis', 'local-timestamp-micros', 'local-timestamp-nanos',
        'io.debezium.time.isotimestamp', 'io.debezium.time.timestamp', 'io.debezium.time.microtimestamp',
        'io.debezium.time.nanotimestamp', 'io.debezium.time.zonedtimestamp', 'org.apache.kafka.connect.data.timestamp'
    ]),
    ('interval', array[
        'interval', 'duration', 'io.debezium.time.microduration', 'io.debezium.time.nanoduration',
        'io.debezium.time.interval'
    ]),
    ('uuid', array['uuid', 'io.debezium.data.uuid']),
    ('json', array['json', 'jsonb', 'io.debezium.data.json', 'hstore']),
    ('object', array['object', 'struct', 'record', 'map', 'io.debezium.data.vector.sparsedoublevector']),
    ('array', array[
        'array', 'list', 'io.debezium.data.vector.floatvector', 'io.debezium.data.vector.doublevector'
    ]),
    ('geometry', array[
        'geometry', 'geography', 'point', 'io.debezium.data.geometry.geometry',
        'io.debezium.data.geometry.geography', 'io.debezium.data.geometry.point'
    ]),
    ('any', array['any'])
) as generalized (type, source_types)
cross join unnest(generalized.source_types) as source_type
on conflict do nothing;

-- From here on there is something to say again.
reset client_min_messages;
-- sql/functions/current_state.sql
create or replace function metl.current_state() returns bigint
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select clock.state from metl.clock $$;
comment on function metl.current_state() is 'The state of trees and matrix; 0 before the first change.';
-- sql/private/lock.sql
create or replace function metl._lock() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    -- An update and not "for update": a repeatable-read writer must fail also after writers that begin no state.
    update metl.clock set state = clock.state;
end $$;
comment on function metl._lock() is
'Makes writers take turns: each writer calls it first, and then sees what the one before it committed.';
-- sql/private/advance.sql
create or replace function metl._advance(cause text, summary jsonb) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _state bigint;
begin
    update metl.clock set state = clock.state + 1 returning clock.state into _state;
    insert into metl.state (state, cause, summary) values (_state, _advance.cause, _advance.summary);
    -- A hint only: it may be merged with others, and who listens should look at the number as well.
    perform pg_notify('metl_state', _state::text);
    return _state;
end $$;
comment on function metl._advance(text, jsonb) is 'Begins the next state and tells who listens on channel metl_state.';
-- sql/private/check_name.sql
create or replace function metl._check_name(what text, name text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if name is null or name !~ '[^\s\u0001-\u0020\u007f-\u00a0\u00ad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The %s must have a name, but it is %s.', what, coalesce(quote_literal(name), 'null')),
            hint = 'Give it a name with at least one visible character.';
    end if;
    if length(name) > 500 then
        raise exception using
            errcode = 'name_too_long',
            message = format('The name of the %s has %s characters: %s…', what, length(name), left(name, 60)),
            hint = 'Names have at most 500 characters.';
    end if;
end $$;
comment on function metl._check_name(text, text) is 'Refuses names that are missing, blank or too long.';
-- sql/private/type_name.sql
create or replace function metl._type_name(source_type text) returns text
language sql immutable
-- numeric(10,2) is numeric, and case does not matter.
return lower(regexp_replace(regexp_replace(source_type, '\s*\([^)]*\)', '', 'g'), '^\s+|\s+$', '', 'g'));
comment on function metl._type_name(text) is 'A type as metl.accepted_type spells it.';
-- sql/private/read_attributes.sql
create or replace function metl._read_attributes(owner text, attributes jsonb) returns metl._given_attribute[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _element jsonb;
    _position int := 0;
    _key text;
    _read metl._given_attribute[] := '{}';
    _one metl._given_attribute;
    _shape constant text := 'Give an array of objects: '
        '[{"name": "id", "type": "int32", "optional": true, "description": "…", "renamed_from": "…"}, …]; '
        'name and type are needed, the rest is optional.';
begin
    if attributes is null or jsonb_typeof(attributes) <> 'array' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The attributes of %s are not an array: %s', owner, coalesce(left(attributes::text, 100), 'null')),
            hint = _shape;
    end if;
    for _element in select value from jsonb_array_elements(attributes) loop
        _position := _position + 1;
        if jsonb_typeof(_element) <> 'object' then
            raise exception using
                errcode = 'invalid_parameter_value',
                message = format('Attribute %s of %s is not an object: %s', _position, owner, left(_element::text, 100)),
                hint = _shape;
        end if;
        for _key in select key from jsonb_each(_element) where not case
            when key in ('name', 'type') then jsonb_typeof(value) = 'string'
            when key in ('description', 'renamed_from') then jsonb_typeof(value) in ('string', 'null')
            when key = 'optional' then jsonb_typeof(value) in ('boolean', 'null')
            else false
        end loop
            raise exception using
                errcode = 'invalid_parameter_value',
                message = format('Attribute %s of %s has %s: %s, which is not understood.',
                                 _position, owner, to_json(_key), left((_element -> _key)::text, 100)),
                hint = _shape;
        end loop;
        perform metl._check_name(format('attribute %s of %s', _position, owner), _element ->> 'name');
        if _element ->> 'renamed_from' is not null then
            perform metl._check_name(format('attribute that %s of %s was renamed from', _element ->> 'name', owner),
                                     _element ->> 'renamed_from');
        end if;
        _one := (
            _position, _element ->> 'name', _element ->> 'type', null,
            coalesce((_element ->> 'optional')::boolean, false), _element ->> 'description', _element ->> 'renamed_from'
        );
        _read := _read || _one;
    end loop;
    _read := array(
        select (
            each.position, each.name, each.source_type, accepted.type,
            each.optional, each.description, each.renamed_from
        )::metl._given_attribute
        from unnest(_read) as each
        left join metl.accepted_type as accepted on accepted.source_type = metl._type_name(each.source_type)
        order by each.position
    );
    select each.* into _one from unnest(_read) as each where each.type is null order by each.position limit 1;
    if found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Attribute %s of %s has the unknown type %s.',
                             _one.name, owner, coalesce(left(_one.source_type, 100), 'null')),
            hint = 'metl.accepted_type has the types that are known; the owner of the database can add to it.';
    end if;
    select each.name into _key from unnest(_read) as each group by each.name having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'duplicate_object',
            message = format('%s has two attributes named %s.', owner, _key),
            hint = 'Names of attributes are unique within a version.';
    end if;
    return _read;
end $$;
comment on function metl._read_attributes(text, jsonb) is
'Reads attributes given as jsonb and refuses what is malformed; owner names them in errors.';
-- sql/private/require.sql
create or replace function metl._require_schema(schema text) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found int;
begin
    select known.schema_id into _found from metl.schema as known where known.name = schema;
    if _found is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no schema %s.', coalesce(quote_literal(schema), 'null')),
            hint = 'metl.schema_versions (`metl schemas`) lists the schemas that are known.';
    end if;
    return _found;
end $$;
comment on function metl._require_schema(text) is 'The id of a schema; an error if there is none of that name.';

create or replace function metl._require_schema_version(schema text, version int) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema(schema);
    _found record;
begin
    select v.deleted into _found from metl.schema_version as v
    where v.schema_id = _schema_id and v.version = _require_schema_version.version;
    if not found or _found.deleted is not null then
        raise exception using
            errcode = 'undefined_object',
            message = format(
                'Schema %s has no version %s%s.', quote_literal(schema), coalesce(version::text, 'null'),
                case when found then format(' any more: it was deleted in state %s', _found.deleted) else '' end
            ),
            hint = format('Its live versions are: %s.', coalesce((
                select string_agg(v.version::text, ', ' order by v.version) from metl.schema_version as v
                where v.schema_id = _schema_id and v.deleted is null
            ), 'none'));
    end if;
    return _schema_id;
end $$;
comment on function metl._require_schema_version(text, int) is
'The id of a schema; an error if that version is not live.';

create or replace function metl._require_entity(entity text) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found int;
begin
    select known.entity_id into _found from metl.entity as known where known.name = entity;
    if _found is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %s.', coalesce(quote_literal(entity), 'null')),
            hint = 'metl.entity_versions (`metl entities`) lists the entities that are known.';
    end if;
    return _found;
end $$;
comment on function metl._require_entity(text) is 'The id of an entity; an error if there is none of that name.';

create or replace function metl._require_entity_version(entity text, version int) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _entity_id int := metl._require_entity(entity);
    _live int;
begin
    select v.version into _live from metl.entity_version as v where v.entity_id = _entity_id and v.deleted is null;
    if _live is distinct from version or version is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %s has no live version %s.', quote_literal(entity), coalesce(version::text, 'null')),
            hint = case
                when _live is null then 'It has no live version at all. Add one with metl.add_entity_version.'
                else format('Its live version is %s; a schema version maps to one version of an entity only.', _live)
            end;
    end if;
    return _entity_id;
end $$;
comment on function metl._require_entity_version(text, int) is
'The id of an entity; an error if that version is not live.';

create or replace function metl._require_new_version(
    what text, name text, version int, added bigint, deleted bigint
) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if version is null or version < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version of %s %s.', coalesce(version::text, 'null'), what, quote_literal(name)),
            hint = 'Versions are whole numbers from 1.';
    end if;
    if added is not null then
        raise exception using
            errcode = 'duplicate_object',
            message = format(
                'Version %s of %s %s %s.', version, what, quote_literal(name),
                case
                    when deleted is null then format('exists already, since state %s', added)
                    else format('was deleted in state %s', deleted)
                end
            ),
            hint = 'A number once used is never used again. Take a new one.';
    end if;
end $$;
comment on function metl._require_new_version(text, text, int, bigint, bigint) is
'Refuses a version number that is no number or was used before.';
-- sql/private/read_mapping.sql
create or replace function metl._read_mapping(
    schema_id int, version int, entity_id int, entity_version int, mapping jsonb
) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _bad record;
    _content bigint[];
begin
    if mapping is null or jsonb_typeof(mapping) <> 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The mapping is not an object: %s', coalesce(left(mapping::text, 100), 'null')),
            hint = 'Give {"entity attribute": "attribute", …}; {} maps nothing.';
    end if;
    select key, value into _bad from jsonb_each(mapping) where jsonb_typeof(value) <> 'string' limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The mapping gives %s for entity attribute %L, which is not the name of an attribute.',
                             left(_bad.value::text, 100), _bad.key),
            hint = 'Give {"entity attribute": "attribute", …}; leave out what is not mapped.';
    end if;
    select pair.key, known.entity_attribute_id into _bad
    from jsonb_each_text(mapping) as pair
    left join metl.entity_attribute_version as known
        on known.entity_id = _read_mapping.entity_id and known.version = _read_mapping.entity_version and known.name = pair.key
    where known.entity_attribute_id is null limit 1;
    if found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %L version %s has no attribute %L.',
                             (select e.name from metl.entity as e where e.entity_id = _read_mapping.entity_id),
                             _read_mapping.entity_version, _bad.key),
            hint = format('It has: %s.', (
                select string_agg(known.name, ', ' order by known.position) from metl.entity_attribute_version as known
                where known.entity_id = _read_mapping.entity_id and known.version = _read_mapping.entity_version
            ));
    end if;
    select pair.value as key into _bad
    from jsonb_each_text(mapping) as pair
    left join metl.attribute_version as known
        on known.schema_id = _read_mapping.schema_id and known.version = _read_mapping.version and known.name = pair.value
    where known.attribute_id is null limit 1;
    if found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Schema %L version %s has no attribute %L.',
                             (select s.name from metl.schema as s where s.schema_id = _read_mapping.schema_id),
                             _read_mapping.version, _bad.key),
            hint = format('It has: %s.', (
                select string_agg(known.name, ', ' order by known.position) from metl.attribute_version as known
                where known.schema_id = _read_mapping.schema_id and known.version = _read_mapping.version
            ));
    end if;
    select pair.value as key, string_agg(quote_literal(pair.key), ' and ' order by pair.key) as keys into _bad
    from jsonb_each_text(mapping) as pair group by pair.value having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'unique_violation',
            message = format('Attribute %L is mapped to %s.', _bad.key, _bad.keys),
            hint = 'A block is 1:1 both ways: map each attribute to one entity attribute.';
    end if;
    select array_agg(array[source.attribute_id, target.entity_attribute_id] order by source.attribute_id) into _content
    from jsonb_each_text(mapping) as pair
    inner join metl.entity_attribute_version as target
        on target.entity_id = _read_mapping.entity_id and target.version = _read_mapping.entity_version
        and target.name = pair.key
    inner join metl.attribute_version as source
        on source.schema_id = _read_mapping.schema_id and source.version = _read_mapping.version
        and source.name = pair.value;
    return coalesce(_content, '{}');
end $$;
comment on function metl._read_mapping(int, int, int, int, jsonb) is
'Reads a mapping given as jsonb and refuses what is unknown or not 1:1.';
-- sql/private/read_block.sql
create or replace function metl._read_block(block jsonb) returns metl._block_content
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _version int;
    _entity_version int;
    _schema_id int;
    _entity_id int;
begin
    if jsonb_typeof(block) <> 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('It is not an object: %s.', left(block::text, 100)),
            hint = 'Give {"schema", "version", "entity", "entity_version", "mapping"}.';
    end if;
    _version := metl._read_version(block -> 'version');
    _entity_version := metl._read_version(block -> 'entity_version');
    _schema_id := metl._require_schema_version(block ->> 'schema', _version);
    _entity_id := metl._require_entity_version(block ->> 'entity', _entity_version);
    return (
        _schema_id, _version, _entity_id, _entity_version,
        metl._read_mapping(_schema_id, _version, _entity_id, _entity_version, block -> 'mapping')
    );
end $$;
comment on function metl._read_block(jsonb) is 'Reads a block given as jsonb and refuses what is unknown or malformed.';

create or replace function metl._read_version(version jsonb) returns int
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if version is null or version::text !~ '^[0-9]{1,10}$' or version::text::bigint > 2147483647 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version.', coalesce(left(version::text, 100), 'Nothing')),
            hint = 'Versions are whole numbers from 1.';
    end if;
    return version;
end $$;
comment on function metl._read_version(jsonb) is 'Reads a version given as jsonb and refuses what is no number.';

create or replace function metl._refuse_blocks(blocks jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
    _message text;
    _hint text;
    _problems text[] := '{}';
begin
    for _each in
        select element.position, element.value
        from jsonb_array_elements(blocks) with ordinality as element (value, position)
    loop
        begin
            perform metl._read_block(_each.value);
        exception when others then
            get stacked diagnostics _message = message_text, _hint = pg_exception_hint;
            _problems := _problems || format('block %s: %s %s', _each.position, _message, _hint);
        end;
    end loop;
    if cardinality(_problems) > 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s of %s blocks cannot be set, so that none is. The first: %s',
                             cardinality(_problems), jsonb_array_length(blocks), _problems[1]),
            detail = array_to_string(_problems, E'\n'),
            hint = 'The detail lists them all. Mend them and give all blocks again.';
    end if;
end $$;
comment on function metl._refuse_blocks(jsonb) is 'An error that lists every one of some blocks that cannot be set.';
-- sql/private/read_lines.sql
create or replace function metl._version_number(version text) returns int
language sql immutable
return case when version ~ '^[0-9]{1,10}$' and version::bigint <= 2147483647 then version::int end;
comment on function metl._version_number(text) is 'A version given as text; null if it is no number.';

create or replace function metl._read_lines(lines metl.mapping_line[]) returns setof metl._read_line
language sql stable
as $$
    -- What names the block is looked up once for all of its lines.
    with block as materialized (
        select
            given.schema, given.version, given.entity, given.entity_version,
            metl._version_number(given.version) as version_number,
            metl._version_number(given.entity_version) as entity_version_number,
            array_agg(given.line) as lines,
            array_agg(given.attribute) as attributes,
            array_agg(given.entity_attribute) as entity_attributes
        from unnest(lines) as given
        group by given.schema, given.version, given.entity, given.entity_version
    )
    select
        given.line, block.schema, block.version, given.attribute,
        block.entity, block.entity_version, given.entity_attribute,
        source.schema_id, source_version.version, source_attribute.attribute_id,
        target.entity_id, target_version.version, target_attribute.entity_attribute_id,
        coalesce(given.attribute, '') = '' and coalesce(given.entity_attribute, '') = ''
    from block
    left join metl.schema as source on block.schema = source.name
    left join metl.schema_version as source_version
        on
            source.schema_id = source_version.schema_id
            and block.version_number = source_version.version
            and source_version.deleted is null
    left join metl.entity as target on block.entity = target.name
    left join metl.entity_version as target_version
        on
            target.entity_id = target_version.entity_id
            and block.entity_version_number = target_version.version
            and target_version.deleted is null
    cross join lateral unnest(block.lines, block.attributes, block.entity_attributes)
        as given (line, attribute, entity_attribute)
    left join metl.attribute_version as source_attribute
        on
            source_version.schema_id = source_attribute.schema_id
            and source_version.version = source_attribute.version
            and given.attribute = source_attribute.name
    left join metl.entity_attribute_version as target_attribute
        on
            target_version.entity_id = target_attribute.entity_id
            and target_version.version = target_attribute.version
            and given.entity_attribute = target_attribute.name
$$;
comment on function metl._read_lines(metl.mapping_line[]) is
'Lines with the ids of what they name; null where there is no such thing, or none that is live.';
-- sql/private/problems.sql
create or replace function metl._problems(lines metl._read_line[])
returns table (line int, about text, value text, problem text)
language sql stable
as $$
    with read as (
        select * from unnest(lines)
    ),
    -- What each line shares with earlier ones of its block, as far as it is known.
    compared as (
        select
            read.*,
            first_value(read.line) over same_attribute as attribute_line,
            first_value(read.entity_attribute) over same_attribute as attribute_target,
            first_value(read.line) over same_target as target_line,
            first_value(read.attribute) over same_target as target_source,
            first_value(read.line) over same_block as block_line,
            first_value(read.is_empty) over same_block as block_is_empty
        from read
        where
            read.live_version is not null
            and read.live_entity_version is not null
            and (read.is_empty or read.attribute_id is not null and read.entity_attribute_id is not null)
        window
            same_block as (
                partition by read.schema_id, read.live_version, read.entity_id, read.live_entity_version
                order by read.line
            ),
            same_attribute as (
                partition by
                    read.schema_id, read.live_version, read.entity_id, read.live_entity_version, read.attribute_id
                order by read.line
            ),
            same_target as (
                partition by
                    read.schema_id, read.live_version, read.entity_id, read.live_entity_version,
                    read.entity_attribute_id
                order by read.line
            )
    )
    select read.line, 'schema', read.schema, format('There is no schema %L.', read.schema)
    from read where read.schema_id is null
    union all
    select read.line, 'version', read.version, case
        when metl._version_number(read.version) is null
            then format('%L is not a version: versions are whole numbers from 1.', read.version)
        else format('Schema %L has no live version %s. Live are: %s.', read.schema, read.version, coalesce((
            select string_agg(live.version::text, ', ' order by live.version) from metl.schema_version as live
            where live.schema_id = read.schema_id and live.deleted is null
        ), 'none'))
    end
    from read where read.schema_id is not null and read.live_version is null
    union all
    select read.line, 'attribute', read.attribute,
        format('Schema %L version %s has no attribute %L.', read.schema, read.live_version, read.attribute)
    from read where read.live_version is not null and read.attribute_id is null and not read.is_empty
    union all
    select read.line, 'entity', read.entity, format('There is no entity %L.', read.entity)
    from read where read.entity_id is null
    union all
    select read.line, 'entity_version', read.entity_version, case
        when metl._version_number(read.entity_version) is null
            then format('%L is not a version: versions are whole numbers from 1.', read.entity_version)
        else format('Entity %L has no live version %s. Live is: %s.', read.entity, read.entity_version, coalesce((
            select live.version::text from metl.entity_version as live
            where live.entity_id = read.entity_id and live.deleted is null
        ), 'none'))
    end
    from read where read.entity_id is not null and read.live_entity_version is null
    union all
    select read.line, 'entity_attribute', read.entity_attribute,
        format('Entity %L version %s has no attribute %L.', read.entity, read.live_entity_version, read.entity_attribute)
    from read
    where read.live_entity_version is not null and read.entity_attribute_id is null and not read.is_empty
    union all
    select compared.line, null, null, format('Line %s says the same.', compared.block_line)
    from compared
    where compared.is_empty and compared.block_is_empty and compared.block_line < compared.line
    union all
    select compared.line, null, null, format(
        'Of this block, line %s maps %s and this one %s.', compared.block_line,
        case when compared.block_is_empty then 'nothing' else 'something' end,
        case when compared.is_empty then 'nothing' else 'something' end
    )
    from compared where compared.is_empty <> compared.block_is_empty
    union all
    select compared.line, null, null, format('Line %s says the same.', compared.attribute_line)
    from compared
    where
        not compared.is_empty
        and compared.attribute_line < compared.line
        and compared.attribute_target = compared.entity_attribute
    union all
    select compared.line, null, null, format(
        'Attribute %L is mapped to %L in line %s already; a block is 1:1 both ways.',
        compared.attribute, compared.attribute_target, compared.attribute_line
    )
    from compared
    where
        not compared.is_empty
        and compared.attribute_line < compared.line
        and compared.attribute_target <> compared.entity_attribute
    union all
    select compared.line, null, null, format(
        'Entity attribute %L is mapped from %L in line %s already; a block is 1:1 both ways.',
        compared.entity_attribute, compared.target_source, compared.target_line
    )
    from compared
    where
        not compared.is_empty
        and compared.target_line < compared.line
        and compared.target_source <> compared.attribute
    order by 1, 2
$$;
comment on function metl._problems(metl._read_line[]) is
'Everything that is wrong with lines that were looked up; about is the column whose value is not known.';
-- sql/private/read_refs.sql
create or replace function metl._read_refs(schema text, version int, refs jsonb)
returns table (kind text, ref text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _what constant text := format('refs of schema %L version %s', schema, version);
    _wrong record;
begin
    if jsonb_typeof(refs) is distinct from 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The %s must be an object, but they are: %s', _what, coalesce(left(refs::text, 60), 'null')),
            hint = 'Give {"global_id": 17}, or {"content_id": [3, 8], "fingerprint": "…"}.';
    end if;
    -- Ids are whole numbers as the wire has them, the others any text.
    for _wrong in
        select given.kind, given.ref, given.kind like '%\_id' as is_id
        from metl._given_refs(refs) as given
        where
            given.kind not in ('global_id', 'content_id', 'confluent_id', 'confluent_guid', 'fingerprint')
            or given.ref is null
            or (given.kind like '%\_id' and given.ref !~ '^(0|[1-9][0-9]{0,18})$')
            or given.ref !~ '\S'
            or length(given.ref) > 200
        limit 1
    loop
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'The %s cannot have %I %s.', _what, _wrong.kind, coalesce(quote_literal(left(_wrong.ref, 60)), 'null')
            ),
            hint = 'global_id, content_id and confluent_id take whole numbers, '
                'confluent_guid and fingerprint text of up to 200 characters.';
    end loop;
    return query select distinct given.kind, given.ref from metl._given_refs(refs) as given;
end $$;
comment on function metl._read_refs(text, int, jsonb) is
'The refs that somebody gives, one row each; an error if one cannot be.';

create or replace function metl._given_refs(refs jsonb)
returns table (kind text, ref text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        given.key,
        -- A number or text as it is; anything else is no ref.
        case when jsonb_typeof(one) in ('number', 'string') then one #>> '{}' end
    from jsonb_each(refs) as given
    cross join lateral jsonb_array_elements(
        case jsonb_typeof(given.value) when 'array' then given.value else jsonb_build_array(given.value) end
    ) as one
$$;
comment on function metl._given_refs(jsonb) is 'Kinds and refs of {"kind": ref, "kind": [ref, …]}, unchecked.';
-- sql/private/check_topic.sql
create or replace function metl._check_topic(
    pattern text, format text, payload text, schema text, version int
) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if pattern is null or pattern !~ '^[A-Za-z0-9._*-]+$' or length(pattern) > 249 or pattern in ('.', '..') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('No topic can be named %s.', coalesce(
                quote_literal(left(pattern, 60)) || case when length(pattern) > 60 then '…' else '' end, 'null'
            )),
            hint = 'Topics have 1 to 249 of the characters A-Z a-z 0-9 . _ and -; * stands for any run of them.';
    end if;
    if format is null or format not in (
        'ext_json', 'ext_json_content_id', 'apicurio', 'apicurio_2', 'confluent', 'connect', 'plain'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a format.', coalesce(quote_literal(left(format, 60)), 'null')),
            hint = 'Take ext_json, ext_json_content_id, apicurio, apicurio_2, confluent, connect or plain.';
    end if;
    if payload is null or payload not in ('debezium', 'flat') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a payload.', coalesce(quote_literal(left(payload, 60)), 'null')),
            hint = 'Take debezium (envelopes with before and after) or flat (the payload itself is the row).';
    end if;
    if schema is not null and pattern like '%*%' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The topics of pattern %L cannot all carry schema %L.', pattern, schema),
            hint = 'Name one topic, without *. Without a schema, each topic carries the schema of its own name.';
    end if;
    if version is not null and format <> 'plain' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Version %s cannot be set for %L: its messages name their version.', version, pattern),
            hint = format('Leave the version out, or take format plain instead of %s.', format);
    end if;
    if version < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version of what topic %L carries.', version, pattern),
            hint = 'Versions are whole numbers from 1.';
    end if;
end $$;
comment on function metl._check_topic(text, text, text, text, int) is
'Refuses a rule for topics that makes no sense by itself, whatever the trees are.';
-- sql/private/read_progress.sql
create or replace function metl._read_progress(job text, batch bigint, progress jsonb) returns metl.job_batch
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _read metl.job_batch;
    _wrong text;
begin
    _wrong := metl._wrong_progress(progress);
    if _wrong is null then
        begin
            _read := jsonb_populate_record(null::metl.job_batch, progress);
        exception when data_exception then
            _wrong := sqlerrm;
        end;
    end if;
    if _wrong is null and (batch < 0 or least(
        _read.rows_in, _read.rows_out, _read.rows_filtered, _read.matrix_rows, _read.matrix_bytes, _read.lag,
        _read.behind_ms
    ) < 0) then
        _wrong := 'nothing can be counted below 0';
    end if;
    if _wrong is null and _read.state not between 0 and metl.current_state() then
        _wrong := format('there is no state %s', _read.state);
    end if;
    if batch is null or _wrong is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'Batch %s of job %L cannot be recorded: %s.',
                coalesce(batch::text, 'null'), job, coalesce(_wrong, 'it has no number')
            ),
            hint = 'Give {"state", "began_at", "ended_at", "rows_in", "rows_out", "rows_filtered", '
                '"dead": {"reason": 1}, "latency_ms": {"p50": 1}, "matrix_rows", "matrix_bytes", "lag", "behind_ms", '
                '"positions": {"topic": {"0": [0, 1]}}}; all from "dead" on may be missing.';
    end if;
    _read.dead := coalesce(_read.dead, '{}');
    _read.positions := coalesce(_read.positions, '{}');
    return _read;
end $$;
comment on function metl._read_progress(text, bigint, jsonb) is
'What a job says of a batch, without what names the batch; an error if it cannot be.';

create or replace function metl._wrong_progress(progress jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when jsonb_typeof(progress) is distinct from 'object' then
        format('its progress must be an object, but it is %s', coalesce(left(progress::text, 60), 'null'))
    else (
        select wrong.text
        from (
            select format('%I is missing', needed.key) as text
            from unnest(
                array['state', 'began_at', 'ended_at', 'rows_in', 'rows_out', 'rows_filtered']
            ) as needed (key)
            where progress ->> needed.key is null
            union all
            select format('nobody knows %I', given.key)
            from jsonb_object_keys(progress) as given (key)
            where given.key not in (
                'state', 'began_at', 'ended_at', 'rows_in', 'rows_out', 'rows_filtered',
                'dead', 'latency_ms', 'matrix_rows', 'matrix_bytes', 'lag', 'behind_ms', 'positions'
            )
            union all
            select format('%I must be an object, but it is %s', given.key, left(given.value::text, 60))
            from jsonb_each(progress) as given
            where
                given.key in ('dead', 'latency_ms', 'positions')
                and jsonb_typeof(given.value) not in ('object', 'null')
            union all
            select format('%L cannot be %s dead letters', left(dead.key, 60), left(dead.value::text, 60))
            from jsonb_each(case jsonb_typeof(progress -> 'dead') when 'object' then progress -> 'dead' end) as dead
            where jsonb_typeof(dead.value) <> 'number' or dead.value::text !~ '^[0-9]{1,18}$'
        ) as wrong
        limit 1
    ) end
$$;
comment on function metl._wrong_progress(jsonb) is 'What is wrong with the shape of a progress; null if nothing is.';
-- sql/private/content.sql
create or replace function metl._content(block_id bigint) returns bigint[]
language sql stable
as $$
    select coalesce(array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id), '{}')
    from metl.cell
    where cell.block_id = _content.block_id
$$;
comment on function metl._content(bigint) is
'The cells of a stored block as pairs, in an order that makes blocks comparable.';

create or replace function metl._content_at(schema_id int, version int, entity_id int, entity_version int)
returns bigint[]
language sql stable
as $$
    select coalesce((
        select metl._content(block.block_id)
        from metl.block
        where
            block.schema_id = _content_at.schema_id
            and block.entity_id = _content_at.entity_id
            and block.entity_version = _content_at.entity_version
            and block.version <= _content_at.version
            and block.until is null
        order by block.version desc
        limit 1
    ), '{}')
$$;
comment on function metl._content_at(int, int, int, int) is
'The cells of any block, stored or not: those of the run it lies in.';

create or replace function metl._pairs(content bigint[]) returns table (attribute_id bigint, entity_attribute_id bigint)
language sql immutable
as $$ select content[pair][1], content[pair][2] from generate_subscripts(content, 1) as pair $$;
comment on function metl._pairs(bigint[]) is 'The contents of a block as rows.';
-- sql/private/store.sql
create or replace function metl._live_version_before(schema_id int, version int) returns int
language sql stable
as $$
    select max(v.version) from metl.schema_version as v
    where v.schema_id = _live_version_before.schema_id and v.version < _live_version_before.version and v.deleted is null
$$;
comment on function metl._live_version_before(int, int) is
'The next lower live version of a schema; null if there is none.';

create or replace function metl._live_version_after(schema_id int, version int) returns int
language sql stable
as $$
    select min(v.version) from metl.schema_version as v
    where v.schema_id = _live_version_after.schema_id and v.version > _live_version_after.version and v.deleted is null
$$;
comment on function metl._live_version_after(int, int) is
'The next higher live version of a schema; null if there is none.';

create or replace function metl._store(state bigint, changes metl._block_content[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if cardinality(changes) = 0 then
        return;
    end if;
    -- A block is stored where it differs from that of the live version before. Changed blocks can
    -- only alter that for themselves and for the live version after each of them.
    perform metl._replace(_store.state, array(
        with change as (
            select * from unnest(_store.changes)
        ),
        touched as (
            select change.schema_id, change.version, change.entity_id, change.entity_version from change
            union
            select change.schema_id, following.version, change.entity_id, change.entity_version
            from change
            cross join lateral metl._live_version_after(change.schema_id, change.version) as following (version)
            where following.version is not null
        ),
        compared as (
            select
                touched.*,
                coalesce(
                    change.content,
                    metl._content_at(touched.schema_id, touched.version, touched.entity_id, touched.entity_version)
                ) as content,
                coalesce(
                    change_before.content,
                    metl._content_at(touched.schema_id, before.version, touched.entity_id, touched.entity_version)
                ) as content_before,
                live.version is not null as is_live
            from touched
            left join change
                on (touched.schema_id, touched.version, touched.entity_id, touched.entity_version)
                = (change.schema_id, change.version, change.entity_id, change.entity_version)
            left join lateral metl._live_version_before(touched.schema_id, touched.version) as before (version) on true
            left join change as change_before
                on (touched.schema_id, before.version, touched.entity_id, touched.entity_version)
                = (change_before.schema_id, change_before.version, change_before.entity_id, change_before.entity_version)
            left join metl.schema_version as live
                on (touched.schema_id, touched.version) = (live.schema_id, live.version) and live.deleted is null
        )
        select (
            compared.schema_id, compared.version, compared.entity_id, compared.entity_version,
            case when compared.is_live and compared.content <> compared.content_before then compared.content end
        )::metl._block_content
        from compared
    ));
end $$;
comment on function metl._store(bigint, metl._block_content[]) is
'Gives blocks new contents and keeps the DUSB minimal around them; null content means that the version is gone.';
-- sql/private/replace.sql
create or replace function metl._replace(state bigint, wanted metl._block_content[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    -- One statement, so that the constraints see the matrix only before and after it.
    with goal as (
        select * from unnest(_replace.wanted)
    ),
    difference as (
        select goal.*, stored.block_id as stored_id
        from goal
        left join metl.block as stored
            on
                goal.schema_id = stored.schema_id
                and goal.version = stored.version
                and goal.entity_id = stored.entity_id
                and goal.entity_version = stored.entity_version
                and stored.until is null
        where goal.content is distinct from case when stored.block_id is not null then metl._content(stored.block_id) end
    ),
    ended as (
        update metl.block set until = _replace.state
        from difference
        where block.block_id = difference.stored_id
        returning block.block_id
    ),
    begun as (
        insert into metl.block (schema_id, version, entity_id, entity_version, since)
        select difference.schema_id, difference.version, difference.entity_id, difference.entity_version, _replace.state
        from difference
        -- Old blocks make room first.
        where difference.content is not null and (select count(*) from ended) >= 0
        returning block_id, schema_id, version, entity_id, entity_version
    )
    insert into metl.cell (block_id, attribute_id, entity_attribute_id)
    select begun.block_id, difference.content[pair][1], difference.content[pair][2]
    from begun
    inner join difference using (schema_id, version, entity_id, entity_version)
    cross join lateral generate_subscripts(difference.content, 1) as pair;
end $$;
comment on function metl._replace(bigint, metl._block_content[]) is
'Makes stored blocks what is wanted, touching only those that differ; null content removes one.';
-- sql/private/violations.sql
create or replace function metl._violations(only_schemas int[] default null, only_entities int[] default null)
returns table (invariant text, schema text, version int, entity text, entity_version int, detail text)
language sql stable
as $$
    with stored as (
        select
            block.*, content.content,
            lag(content.content, 1, '{}') over chain as before,
            lead(block.version) over chain as next_version
        from metl.block
        cross join lateral metl._content(block.block_id) as content (content)
        where
            block.until is null
            and block.schema_id = any(coalesce(only_schemas, array(select s.schema_id from metl.schema as s)))
            and block.entity_id = any(coalesce(only_entities, array(select e.entity_id from metl.entity as e)))
        window chain as (partition by block.schema_id, block.entity_id, block.entity_version order by block.version)
    ),
    found as (
        select 'a stored block differs from the one before it' as invariant, stored.*, null::text as detail
        from stored
        where stored.content = stored.before and stored.content <> '{}'
        union all
        select 'a null block only ends a run', stored.*, null
        from stored
        where stored.content = '{}' and stored.before = '{}'
        union all
        select 'a stored block belongs to live versions', stored.*, null
        from stored
        inner join metl.schema_version as source on stored.schema_id = source.schema_id and stored.version = source.version
        inner join metl.entity_version as target
            on stored.entity_id = target.entity_id and stored.entity_version = target.version
        where source.deleted is not null or target.deleted is not null
        union all
        select 'a cell''s attribute is in every version of its run', stored.*, format('attribute %s, version %s', cell.attribute_id, v.version)
        from stored
        cross join lateral metl._pairs(stored.content) as cell
        inner join metl.schema_version as v
            on
                stored.schema_id = v.schema_id
                and v.version >= stored.version
                and (v.version < stored.next_version or stored.next_version is null)
                and v.deleted is null
        left join metl.attribute_version as a
            on cell.attribute_id = a.attribute_id and v.version = a.version and v.schema_id = a.schema_id
        where a.attribute_id is null
        union all
        select 'a cell''s entity attribute is in the entity version', stored.*, format('entity attribute %s', cell.entity_attribute_id)
        from stored
        cross join lateral metl._pairs(stored.content) as cell
        left join metl.entity_attribute_version as a
            on
                cell.entity_attribute_id = a.entity_attribute_id
                and stored.entity_version = a.version
                and stored.entity_id = a.entity_id
        where a.entity_attribute_id is null
    )
    select found.invariant, schema.name, found.version, entity.name, found.entity_version, found.detail
    from found
    inner join metl.schema on found.schema_id = schema.schema_id
    inner join metl.entity on found.entity_id = entity.entity_id
$$;
comment on function metl._violations(int[], int[]) is
'Every invariant of the stored blocks that does not hold, for some schemas and entities or all.';
-- sql/private/guard.sql
create or replace function metl._guard_blocks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._refuse_violations(
        array(select distinct touched.schema_id from touched), array(select distinct touched.entity_id from touched)
    );
    return null;
end $$;
comment on function metl._guard_blocks() is 'Lets no statement leave a broken block behind.';

create or replace function metl._guard_past_blocks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (select from touched where touched.until is not null) then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = 'A block that has ended cannot be changed or deleted.',
            hint = 'Old states are read from it. Change blocks with metl.set_block.';
    end if;
    perform metl._refuse_violations(
        array(select distinct touched.schema_id from touched), array(select distinct touched.entity_id from touched)
    );
    return null;
end $$;
comment on function metl._guard_past_blocks() is 'Lets no statement rewrite the past, or leave a broken chain behind.';

create or replace function metl._refuse_truncate() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using
        errcode = 'integrity_constraint_violation',
        message = format('metl.%s cannot be truncated.', tg_table_name),
        hint = 'Old states are read from it. To begin anew: drop schema metl cascade, and install again.';
end $$;
comment on function metl._refuse_truncate() is 'Lets nobody empty the matrix and its past in one go.';

create or replace function metl._guard_cells() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (
        select from touched inner join metl.block on touched.block_id = block.block_id where block.until is not null
    ) then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = 'The cells of a block that has ended cannot be changed.',
            hint = 'They are what old states are read from. Change blocks with metl.set_block.';
    end if;
    perform metl._refuse_violations(array_agg(distinct block.schema_id), array_agg(distinct block.entity_id))
    from touched inner join metl.block on touched.block_id = block.block_id
    having count(*) > 0;
    return null;
end $$;
comment on function metl._guard_cells() is 'Lets no statement leave a broken block behind, or rewrite the past.';

create or replace function metl._refuse_violations(schemas int[], entities int[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _violation record;
begin
    if cardinality(schemas) = 0 then
        return;
    end if;
    select * into _violation from metl._violations(schemas, entities) limit 1;
    if found then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = format('Schema %L version %s to entity %L version %s: %s.', _violation.schema, _violation.version,
                             _violation.entity, _violation.entity_version, _violation.invariant),
            detail = coalesce(_violation.detail, ''),
            hint = 'Change blocks with metl.set_block, which keeps the matrix whole.';
    end if;
end $$;
comment on function metl._refuse_violations(int[], int[]) is
'An error if an invariant of the stored blocks does not hold.';

-- An update is looked at twice: where it takes rows from and where it puts them.
create or replace trigger block_insert_is_guarded after insert on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_update_is_guarded after update on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_move_is_guarded after update on metl.block
referencing old table as touched for each statement execute function metl._guard_past_blocks();
create or replace trigger block_delete_is_guarded after delete on metl.block
referencing old table as touched for each statement execute function metl._guard_past_blocks();
create or replace trigger block_truncate_is_refused before truncate on metl.block
for each statement execute function metl._refuse_truncate();
create or replace trigger cell_truncate_is_refused before truncate on metl.cell
for each statement execute function metl._refuse_truncate();
create or replace trigger cell_insert_is_guarded after insert on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_update_is_guarded after update on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_move_is_guarded after update on metl.cell
referencing old table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_delete_is_guarded after delete on metl.cell
referencing old table as touched for each statement execute function metl._guard_cells();
-- sql/functions/check.sql
create or replace function metl.check()
returns table (invariant text, schema text, version int, entity text, entity_version int, detail text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select violation.* from metl._violations() as violation
    union all
    select 'states have no gaps', null, null, null, null, format('%s states, the clock says %s', count(state.state), clock.state)
    from metl.clock left join metl.state on true
    group by clock.state
    having count(state.state) <> clock.state or coalesce(max(state.state), 0) <> clock.state
$$;
comment on function metl.check() is 'Every invariant that does not hold, as rows; no rows: all is well.';
-- sql/views/ones.sql
create or replace view metl._ones as
select
    run.schema_id,
    attribute.version,
    run.entity_id,
    run.entity_version,
    cell.attribute_id,
    cell.entity_attribute_id,
    schema.name as schema,
    entity.name as entity,
    attribute.name as attribute,
    target.name as entity_attribute
from metl.block as run
inner join metl.schema on run.schema_id = schema.schema_id
inner join metl.cell on run.block_id = cell.block_id
-- The run of a stored block reaches to the next stored one, the last run to the highest version.
left join lateral (
    select following.version
    from metl.block as following
    where
        following.schema_id = run.schema_id
        and following.entity_id = run.entity_id
        and following.entity_version = run.entity_version
        and following.version > run.version
        and following.until is null
    order by following.version
    limit 1
) as next on true
-- Said in the negative because the planner then expects about as many rows as there are: as two
-- comparisons it expects a ninth of them, and looks the names of entity attributes up too late.
inner join metl.attribute_version as attribute
    on
        cell.attribute_id = attribute.attribute_id
        and (attribute.version < run.version or attribute.version >= next.version) is not true
-- Both always exist. Left joins leave the planner fewer orders to think about, which is most of the
-- time that a column set takes.
left join metl.entity on run.entity_id = entity.entity_id
left join metl.entity_attribute_version as target
    on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version
where
    run.until is null
    and not exists (
        select from metl.schema_version as gone
        where
            gone.schema_id = attribute.schema_id
            and gone.version = attribute.version
            and gone.deleted is not null
    );
comment on view metl._ones is 'Algorithm 4: every 1 of the current matrix, with its ids.';
-- sql/views/decompaction.sql
create or replace view metl.decompaction as
select schema, version, entity, entity_version, attribute, entity_attribute
from metl._ones;
comment on view metl.decompaction is 'Every 1 of the current matrix, unfolded from the unique blocks.';
-- sql/views/dusb.sql
create or replace view metl.dusb as
select
    schema.name as schema,
    entity.name as entity,
    block.entity_version,
    block.version,
    attribute.name as attribute,
    target.name as entity_attribute
from metl.block
inner join metl.schema on block.schema_id = schema.schema_id
inner join metl.entity on block.entity_id = entity.entity_id
left join metl.cell on block.block_id = cell.block_id
left join metl.attribute_version as attribute
    on cell.attribute_id = attribute.attribute_id and block.version = attribute.version
left join metl.entity_attribute_version as target
    on cell.entity_attribute_id = target.entity_attribute_id and block.entity_version = target.version
where block.until is null;
comment on view metl.dusb is
'The unique blocks as they are stored, one row per element; a null block is one row without attributes.';
-- sql/functions/matrix_block.sql
create or replace function metl.matrix_block(schema text, version int, entity text, entity_version int)
returns table (entity_attribute text, attribute text, value int)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select target.name, source.name, (one.attribute_id is not null)::int
    from metl.entity_attribute_version as target
    cross join metl.attribute_version as source
    left join metl._pairs(
        metl._content_at(_schema_id, matrix_block.version, _entity_id, matrix_block.entity_version)
    ) as one on source.attribute_id = one.attribute_id and target.entity_attribute_id = one.entity_attribute_id
    where
        target.entity_id = _entity_id
        and target.version = matrix_block.entity_version
        and source.schema_id = _schema_id
        and source.version = matrix_block.version
    order by target.position, source.position;
end $$;
comment on function metl.matrix_block(text, int, text, int) is
'The full block of zeros and ones between a schema version and an entity version.';
-- sql/views/trees.sql
create or replace view metl.schema_versions as
select schema.name as schema, schema_version.version, schema_version.added, schema_version.deleted
from metl.schema_version
inner join metl.schema on schema_version.schema_id = schema.schema_id;
comment on view metl.schema_versions is
'Every version of every schema; deleted is the state that ended it, null if live.';

create or replace view metl.schema_attributes as
select
    schema.name as schema,
    attribute.version,
    attribute.name as attribute,
    attribute.position,
    attribute.source_type,
    identity.type,
    attribute.optional,
    attribute.description,
    attribute.renamed_from,
    attribute.attribute_id,
    live.deleted is null as is_live
from metl.attribute_version as attribute
inner join metl.attribute as identity on attribute.attribute_id = identity.attribute_id
inner join metl.schema_version as live
    on attribute.schema_id = live.schema_id and attribute.version = live.version
inner join metl.schema on attribute.schema_id = schema.schema_id;
comment on view metl.schema_attributes is
'The attributes of every schema version; attribute_id stays the same through the versions of one attribute.';

create or replace view metl.entity_versions as
select
    entity.name as entity,
    entity_version.version,
    entity_version.added,
    entity_version.deleted,
    entity_version.description
from metl.entity_version
inner join metl.entity on entity_version.entity_id = entity.entity_id;
comment on view metl.entity_versions is
'Every version of every entity; deleted is the state that ended it, null if live.';

create or replace view metl.entity_attributes as
select
    entity.name as entity,
    attribute.version as entity_version,
    attribute.name as entity_attribute,
    attribute.position,
    identity.type,
    attribute.optional,
    attribute.description,
    attribute.renamed_from,
    attribute.entity_attribute_id,
    live.deleted is null as is_live
from metl.entity_attribute_version as attribute
inner join metl.entity_attribute as identity on attribute.entity_attribute_id = identity.entity_attribute_id
inner join metl.entity_version as live
    on attribute.entity_id = live.entity_id and attribute.version = live.version
inner join metl.entity on attribute.entity_id = entity.entity_id;
comment on view metl.entity_attributes is
'The attributes of every entity version; entity_attribute_id stays the same through the versions of one attribute.';
-- sql/views/schema_refs.sql
create or replace view metl.schema_refs as
select schema.name as schema, schema_ref.version, schema_ref.kind, schema_ref.ref
from metl.schema_ref
inner join metl.schema on schema_ref.schema_id = schema.schema_id
where schema_ref.until is null;
comment on view metl.schema_refs is
'By what messages name the live versions of each schema. A content may be that of several versions.';
-- sql/private/match_attributes.sql
create or replace function metl._claims(fresh metl._given_attribute[], lower_version metl._known_attribute[])
returns table (name text, previous_name text, id bigint, same_type boolean)
language sql immutable
as $$
    -- An explicit rename comes before the same name.
    select
        each.name,
        coalesce(renamed.name, same.name),
        coalesce(renamed.id, same.id),
        coalesce(renamed.type, same.type) = each.type
    from unnest(fresh) as each
    left join unnest(lower_version) as renamed on each.renamed_from = renamed.name
    left join unnest(lower_version) as same on each.name = same.name
    where coalesce(renamed.id, same.id) is not null
$$;
comment on function metl._claims(metl._given_attribute[], metl._known_attribute[]) is
'Which attribute of the next lower version each new attribute continues, by rename or by name.';

create or replace function metl._match_attributes(
    owner text,
    fresh metl._given_attribute[],
    lower_version metl._known_attribute[],
    upper_version metl._known_attribute[]
) returns table (name text, id bigint, previous_name text, goes_on boolean, type_changed boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _claimed record;
begin
    -- Two attributes cannot both continue one.
    select claim.previous_name, array_agg(claim.name order by claim.name) as names into _claimed
    from metl._claims(fresh, lower_version) as claim
    group by claim.previous_name having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s of %s both continue %s.',
                             array_to_string(_claimed.names, ' and '), owner, _claimed.previous_name),
            hint = 'At most one attribute may be renamed_from another, and that name must be gone or renamed itself.';
    end if;
    return query
    with below as (
        select claim.name, claim.previous_name, claim.id, claim.same_type
        from metl._claims(fresh, lower_version) as claim
    ),
    -- A version that comes late may share an attribute with the version above it only.
    above as (
        select distinct on (known.id) each.name, known.id, each.name = known.renamed_from as was_renamed
        from unnest(fresh) as each
        inner join unnest(upper_version) as known
            on each.type = known.type and each.name in (known.name, known.renamed_from)
        where
            not exists (select from below where below.name = each.name and below.same_type)
            and not exists (select from below where below.id = known.id and below.same_type)
        -- As from below, an explicit rename comes before the same name.
        order by known.id, (each.name = known.renamed_from) desc nulls last
    )
    select
        each.name,
        coalesce(case when below.same_type then below.id end, above.id),
        below.previous_name,
        coalesce(below.same_type, false),
        coalesce(not below.same_type, false)
    from unnest(fresh) as each
    left join below on each.name = below.name
    left join lateral (
        select above.id from above
        where above.name = each.name
        order by above.was_renamed desc nulls last, above.id
        limit 1
    ) as above on true;
end $$;
comment on function metl._match_attributes(
    text, metl._given_attribute[], metl._known_attribute[], metl._known_attribute[]
) is
'Which attribute of its neighbours each attribute of a new version is equivalent to: its id, null if it is new; '
'goes_on: it is one of the version below, from which mappings are carried over.';
-- sql/private/match_schema_attributes.sql
create or replace function metl._schema_attributes(schema_id int, version int) returns metl._known_attribute[]
language sql stable
as $$
    select array_agg((known.attribute_id, known.name, identity.type, known.renamed_from)::metl._known_attribute)
    from metl.attribute_version as known
    inner join metl.attribute as identity on known.attribute_id = identity.attribute_id
    where known.schema_id = _schema_attributes.schema_id and known.version = _schema_attributes.version
$$;
comment on function metl._schema_attributes(int, int) is 'The attributes of a schema version, for matching.';

create or replace function metl._match_schema_attributes(schema text, version int, fresh metl._given_attribute[])
returns table (name text, id bigint, previous_name text, goes_on boolean, type_changed boolean)
language sql stable
as $$
    select matched.*
    from (select (select s.schema_id from metl.schema as s where s.name = schema) as schema_id) as known
    cross join lateral metl._match_attributes(
        format('schema %L version %s', schema, version),
        fresh,
        metl._schema_attributes(known.schema_id, metl._live_version_before(known.schema_id, version)),
        metl._schema_attributes(known.schema_id, metl._live_version_after(known.schema_id, version))
    ) as matched
$$;
comment on function metl._match_schema_attributes(text, int, metl._given_attribute[]) is
'Matches the attributes of a new schema version with those of the live versions around it.';
-- sql/private/match_entity_attributes.sql
create or replace function metl._match_entity_attributes(entity text, version int, fresh metl._given_attribute[])
returns table (name text, id bigint, previous_name text, goes_on boolean, type_changed boolean)
language sql stable
as $$
    select matched.*
    from metl._match_attributes(
        format('entity %L version %s', entity, version),
        fresh,
        (
            select array_agg((known.entity_attribute_id, known.name, identity.type, known.renamed_from)::metl._known_attribute)
            from metl.entity as e
            inner join metl.entity_version as live on e.entity_id = live.entity_id and live.deleted is null
            inner join metl.entity_attribute_version as known
                on live.entity_id = known.entity_id and live.version = known.version
            inner join metl.entity_attribute as identity on known.entity_attribute_id = identity.entity_attribute_id
            where e.name = entity
        ),
        -- Entity versions do not come late: there is nothing above.
        '{}'
    ) as matched
$$;
comment on function metl._match_entity_attributes(text, int, metl._given_attribute[]) is
'Matches the attributes of a new entity version with those of the live one.';
-- sql/private/insert_schema_version.sql
create or replace function metl._insert_schema_version(
    state bigint, schema text, version int, fresh metl._given_attribute[]
) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int;
begin
    insert into metl.schema (name) values (_insert_schema_version.schema) on conflict do nothing;
    select known.schema_id into _schema_id from metl.schema as known where known.name = _insert_schema_version.schema;
    with wanted as materialized (
        select
            each.*, matched.id is null as is_new,
            coalesce(matched.id, nextval('metl.attribute_attribute_id_seq')) as attribute_id
        from unnest(fresh) as each
        inner join metl._match_schema_attributes(_insert_schema_version.schema, _insert_schema_version.version, fresh)
            as matched on each.name = matched.name
    ),
    _ as (
        insert into metl.schema_version (schema_id, version, added)
        values (_schema_id, _insert_schema_version.version, _insert_schema_version.state)
    ),
    __ as (
        insert into metl.attribute (attribute_id, schema_id, type) overriding system value
        select wanted.attribute_id, _schema_id, wanted.type from wanted where wanted.is_new
    )
    insert into metl.attribute_version (
        attribute_id, version, schema_id, name, position, source_type, optional, description, renamed_from
    )
    select
        wanted.attribute_id, _insert_schema_version.version, _schema_id, wanted.name, wanted.position,
        wanted.source_type, wanted.optional, wanted.description, wanted.renamed_from
    from wanted;
    return _schema_id;
end $$;
comment on function metl._insert_schema_version(bigint, text, int, metl._given_attribute[]) is
'Writes a schema version and its attributes into the tree; returns the id of the schema.';
-- sql/private/insert_entity_version.sql
create or replace function metl._insert_entity_version(
    state bigint, entity text, version int, description text, fresh metl._given_attribute[]
) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int;
begin
    insert into metl.entity (name) values (_insert_entity_version.entity) on conflict do nothing;
    select known.entity_id into _entity_id from metl.entity as known where known.name = _insert_entity_version.entity;
    with wanted as materialized (
        select
            each.*, matched.id is null as is_new,
            coalesce(matched.id, nextval('metl.entity_attribute_entity_attribute_id_seq')) as entity_attribute_id
        from unnest(fresh) as each
        inner join metl._match_entity_attributes(_insert_entity_version.entity, _insert_entity_version.version, fresh)
            as matched on each.name = matched.name
    ),
    superseded as (
        update metl.entity_version set deleted = _insert_entity_version.state
        where entity_id = _entity_id and deleted is null
        returning 1
    ),
    _ as (
        insert into metl.entity_version (entity_id, version, added, description)
        select
            _entity_id, _insert_entity_version.version, _insert_entity_version.state,
            _insert_entity_version.description
        -- An entity has one live version: the old one makes room first.
        where (select count(*) from superseded) >= 0
    ),
    __ as (
        insert into metl.entity_attribute (entity_attribute_id, entity_id, type) overriding system value
        select wanted.entity_attribute_id, _entity_id, wanted.type from wanted where wanted.is_new
    )
    insert into metl.entity_attribute_version (
        entity_attribute_id, version, entity_id, name, position, optional, description, renamed_from
    )
    select
        wanted.entity_attribute_id, _insert_entity_version.version, _entity_id, wanted.name, wanted.position,
        wanted.optional, wanted.description, wanted.renamed_from
    from wanted;
    return _entity_id;
end $$;
comment on function metl._insert_entity_version(bigint, text, int, text, metl._given_attribute[]) is
'Writes an entity version and its attributes into the tree in place of the live one; returns the id of the entity.';
-- sql/private/store_refs.sql
create or replace function metl._store_refs(
    state bigint, schema_id int, schema text, version int, refs jsonb
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _kinds text[];
    _refs text[];
    _other metl.schema_ref;
begin
    select array_agg(given.kind), array_agg(given.ref) into _kinds, _refs
    from metl._read_refs(_store_refs.schema, _store_refs.version, _store_refs.refs) as given;
    select known.* into _other
    from unnest(_kinds, _refs) as given (kind, ref)
    inner join metl.schema_ref as known on given.kind = known.kind and given.ref = known.ref
    where
        known.schema_id = _store_refs.schema_id
        and known.version <> _store_refs.version
        and known.kind = 'global_id'
        and known.until is null
    limit 1;
    if found then
        raise exception using
            errcode = 'unique_violation',
            message = format('global_id %s of schema %L names version %s already.', _other.ref, schema, _other.version),
            hint = 'A global id names one version. Take it from that one first, with metl.set_refs.';
    end if;
    update metl.schema_ref set until = _store_refs.state
    where
        schema_ref.schema_id = _store_refs.schema_id
        and schema_ref.version = _store_refs.version
        and schema_ref.until is null
        and not exists (
            select from unnest(_kinds, _refs) as given (kind, ref)
            where given.kind = schema_ref.kind and given.ref = schema_ref.ref
        );
    insert into metl.schema_ref (schema_id, version, kind, ref, since)
    select _store_refs.schema_id, _store_refs.version, given.kind, given.ref, _store_refs.state
    from unnest(_kinds, _refs) as given (kind, ref)
    on conflict (schema_id, version, kind, ref) where until is null do nothing;
end $$;
comment on function metl._store_refs(bigint, int, text, int, jsonb) is
'Gives a schema version these refs and no others.';
-- sql/private/policy.sql
create or replace function metl._policy(schema_id int, entity_id int) returns text
language sql stable
as $$
    -- The most specific wins; of one for the whole schema and one for the whole entity, the stricter.
    select coalesce((
        select policy.policy
        from metl.policy
        where
            (policy.schema_id is null or policy.schema_id = _policy.schema_id)
            and (policy.entity_id is null or policy.entity_id = _policy.entity_id)
        order by
            num_nonnulls(policy.schema_id, policy.entity_id) desc,
            array_position(array['freeze', 'confirm', 'auto'], policy.policy)
        limit 1
    ), 'auto')
$$;
comment on function metl._policy(int, int) is 'The policy in force for a schema and an entity.';
-- sql/functions/set_policy.sql
create or replace function metl.set_policy(schema text, entity text, policy text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _entity_id int;
begin
    perform metl._lock();
    if policy is null or policy not in ('auto', 'confirm', 'freeze') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a policy.', coalesce(quote_literal(policy), 'null')),
            hint = 'Take auto, confirm (losses wait for somebody) or freeze (nothing changes).';
    end if;
    if schema is not null then _schema_id := metl._require_schema(schema); end if;
    if entity is not null then _entity_id := metl._require_entity(entity); end if;
    insert into metl.policy (schema_id, entity_id, policy) values (_schema_id, _entity_id, set_policy.policy)
    on conflict on constraint policy_is_set_once
    do update set policy = excluded.policy, set_by = session_user, set_at = clock_timestamp();
end $$;
comment on function metl.set_policy(text, text, text) is
'Sets the policy of a schema and an entity: auto, confirm or freeze. Null stands for all; the most specific one wins.';
-- sql/functions/policy_of.sql
create or replace function metl.policy_of(schema text, entity text) returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select metl._policy(metl._require_schema(schema), metl._require_entity(entity)) $$;
comment on function metl.policy_of(text, text) is 'The policy in force for a schema and an entity.';
-- sql/views/policies.sql
create or replace view metl.policies as
select schema.name as schema, entity.name as entity, policy.policy, policy.set_by, policy.set_at
from metl.policy
left join metl.schema on policy.schema_id = schema.schema_id
left join metl.entity on policy.entity_id = entity.entity_id;
comment on view metl.policies is 'The policies that were set; null stands for every schema or every entity.';
-- sql/functions/set_column_policy.sql
create or replace function metl.set_column_policy(entity text, entity_attribute text, policy text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int;
    _attribute_id bigint;
begin
    perform metl._lock();
    if policy is null or policy not in ('keep', 'clear') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a policy of a column.', coalesce(quote_literal(policy), 'null')),
            hint = 'Take keep (rows keep what they had when nothing feeds it any more) or clear (they get null).';
    end if;
    _entity_id := metl._require_entity(entity);
    select live.entity_attribute_id into _attribute_id
    from metl.entity_attributes as live
    where
        live.entity = set_column_policy.entity
        and live.entity_attribute = set_column_policy.entity_attribute
        and live.is_live;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %L has no attribute %s.', entity, coalesce(quote_literal(entity_attribute), 'null')),
            hint = 'metl.entity_attributes lists those of its live version.';
    end if;
    insert into metl.column_policy (entity_attribute_id, policy) values (_attribute_id, set_column_policy.policy)
    on conflict on constraint column_policy_pk
    do update set policy = excluded.policy, set_by = session_user, set_at = clock_timestamp();
    -- Whoever merges next, or metl.clear_columns, takes it up.
    update metl.warehouse_table set described = null where warehouse_table.entity_id = _entity_id;
end $$;
comment on function metl.set_column_policy(text, text, text) is
'Says what becomes of the values of an entity attribute in rows of schemas that do not feed it any more: keep them '
'(the default), or clear them. metl.clear_columns does it to rows that are there.';
-- sql/views/column_policies.sql
create or replace view metl.column_policies as
select live.entity, live.entity_attribute, policy.policy, policy.set_by, policy.set_at
from metl.column_policy as policy
inner join metl.entity_attributes as live
    on policy.entity_attribute_id = live.entity_attribute_id and live.is_live;
comment on view metl.column_policies is
'The policies of columns that were set: what becomes of values that nothing feeds any more.';
-- sql/private/column_plan.sql
create or replace function metl._column_plan(schema text, version int, fresh metl._given_attribute[])
returns setof metl._cell_fate
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := (select s.schema_id from metl.schema as s where s.name = _column_plan.schema);
    _before int := metl._live_version_before(_schema_id, _column_plan.version);
begin
    return query
    with matched as (
        select * from metl._match_schema_attributes(_column_plan.schema, _column_plan.version, fresh)
    ),
    previous as (
        select block.entity_id, block.entity_version, cell.attribute_id, cell.entity_attribute_id, block.is_frozen
        from (
            select distinct on (b.entity_id, b.entity_version)
                b.block_id, b.entity_id, b.entity_version,
                metl._policy(_schema_id, b.entity_id) = 'freeze' as is_frozen
            from metl.block as b
            where b.schema_id = _schema_id and b.version <= _before and b.until is null
            order by b.entity_id, b.entity_version, b.version desc
        ) as block
        inner join metl.cell on block.block_id = cell.block_id
    ),
    fated as (
        select
            previous.entity_id, previous.entity_version, previous.attribute_id, previous.entity_attribute_id,
            coalesce(kept.name, old.name) as attribute,
            case when kept.id is null or previous.is_frozen then 'lost' else 'kept' end as fate,
            case
                when kept.id is not null and previous.is_frozen then 'frozen'
                when kept.id is null and retyped.name is not null then 'type_changed'
                when kept.id is null then 'dropped'
            end as reason
        from previous
        inner join metl.attribute_version as old on previous.attribute_id = old.attribute_id and old.version = _before
        left join matched as kept on previous.attribute_id = kept.id and kept.goes_on
        left join matched as retyped on old.name = retyped.previous_name and retyped.type_changed
    ),
    -- A name that was mapped once, was dropped and comes back is suggested, not mapped.
    suggested as (
        select distinct on (block.entity_id, cell.entity_attribute_id)
            block.entity_id, block.entity_version, null::bigint as attribute_id, cell.entity_attribute_id,
            matched.name as attribute, 'suggested' as fate, 'came_back' as reason
        from matched
        inner join metl.attribute_version as former
            on former.schema_id = _schema_id and matched.name = former.name and former.version < _before
        inner join metl.schema_version as former_version
            on former.schema_id = former_version.schema_id
            and former.version = former_version.version
            and former_version.deleted is null
        inner join metl.cell on former.attribute_id = cell.attribute_id
        inner join metl.block on cell.block_id = block.block_id and block.until is null
        where
            matched.id is null
            and matched.previous_name is null
            and block.version = (
                select max(b.version) from metl.block as b
                where
                    b.schema_id = _schema_id and b.entity_id = block.entity_id
                    and b.version <= former.version and b.until is null
            )
            and not exists (
                select from fated
                where fated.entity_attribute_id = cell.entity_attribute_id and fated.fate = 'kept'
            )
        order by block.entity_id, cell.entity_attribute_id, former.version desc
    ),
    everything as (
        select * from fated
        union all
        select * from suggested
    )
    select
        _schema_id, _column_plan.version, everything.entity_id, everything.entity_version,
        everything.attribute_id, everything.entity_attribute_id,
        _column_plan.schema,
        (select e.name from metl.entity as e where e.entity_id = everything.entity_id),
        everything.attribute,
        (
            select a.name from metl.entity_attribute_version as a
            where a.entity_attribute_id = everything.entity_attribute_id and a.version = everything.entity_version
        ),
        everything.fate, everything.reason
    from everything;
end $$;
comment on function metl._column_plan(text, int, metl._given_attribute[]) is
'What becomes of each cell of the next lower version when a schema version is added.';
-- sql/private/row_plan.sql
create or replace function metl._row_plan(entity text, version int, fresh metl._given_attribute[])
returns setof metl._cell_fate
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := (select e.entity_id from metl.entity as e where e.name = _row_plan.entity);
    _live int := (select v.version from metl.entity_version as v where v.entity_id = _entity_id and v.deleted is null);
begin
    return query
    with matched as (
        select * from metl._match_entity_attributes(_row_plan.entity, _row_plan.version, fresh)
    )
    select
        one.schema_id, one.version, _entity_id, _row_plan.version, one.attribute_id, one.entity_attribute_id,
        one.schema, _row_plan.entity, one.attribute, coalesce(kept.name, one.entity_attribute),
        case when kept.id is null then 'lost' else 'kept' end,
        case when kept.id is null then case when retyped.name is null then 'dropped' else 'type_changed' end end
    from metl._ones as one
    left join matched as kept on one.entity_attribute_id = kept.id
    left join matched as retyped on one.entity_attribute = retyped.previous_name and retyped.type_changed
    where one.entity_id = _entity_id and one.entity_version = _live;
end $$;
comment on function metl._row_plan(text, int, metl._given_attribute[]) is
'What becomes of each cell of the live version of an entity when a new version takes its place.';
-- sql/private/end_plans.sql
create or replace function metl._column_end(schema text, version int) returns setof metl._cell_fate
language sql stable
as $$
    select
        one.schema_id, one.version, one.entity_id, one.entity_version, one.attribute_id, one.entity_attribute_id,
        one.schema, one.entity, one.attribute, one.entity_attribute, 'lost', 'deleted'
    from metl._ones as one
    where one.schema = _column_end.schema and one.version = _column_end.version
$$;
comment on function metl._column_end(text, int) is 'The cells that go with a schema version.';

create or replace function metl._row_end(entity text, version int) returns setof metl._cell_fate
language sql stable
as $$
    select
        one.schema_id, one.version, one.entity_id, one.entity_version, one.attribute_id, one.entity_attribute_id,
        one.schema, one.entity, one.attribute, one.entity_attribute, 'lost', 'deleted'
    from metl._ones as one
    where one.entity = _row_end.entity and one.entity_version = _row_end.version
$$;
comment on function metl._row_end(text, int) is 'The cells that go with an entity version.';
-- sql/functions/cast_effect.sql
create or replace function metl.cast_effect(type text, target text) returns text
language sql immutable
return case
    when type = target then 'same'
    when
        target = 'any'
        -- Almost anything can be written down.
        or (target = 'string' and type <> 'bytes')
        or (
            target = 'json'
            and type in ('integer', 'decimal', 'float', 'boolean', 'object', 'array', 'geometry', 'any')
        )
        or (type, target) in (('integer', 'decimal'), ('date', 'timestamp'), ('time', 'interval'), ('string', 'bytes'))
        then 'widening'
    when
        type in ('string', 'json', 'any')
        or (type, target) in (
            ('integer', 'float'), ('decimal', 'integer'), ('decimal', 'float'),
            ('float', 'integer'), ('float', 'decimal'), ('timestamp', 'date'), ('interval', 'time'),
            ('object', 'array'), ('array', 'object'), ('object', 'geometry'), ('geometry', 'object')
        )
        then 'may not fit'
    else 'no cast'
end;
comment on function metl.cast_effect(text, text) is
'What mapping an attribute of one generalized type to an entity attribute of another does to its values: same, '
'widening (all fit), may not fit (some may be refused) or no cast (in the warehouse all are).';
-- sql/private/block_plan.sql
create or replace function metl._block_plan(changes metl._block_content[]) returns setof metl._cell_fate
language sql stable
as $$
    with change as materialized (
        select
            each.*, s.name as schema, e.name as entity,
            metl._content_at(each.schema_id, each.version, each.entity_id, each.entity_version) as old_content
        from unnest(changes) as each
        inner join metl.schema as s on each.schema_id = s.schema_id
        inner join metl.entity as e on each.entity_id = e.entity_id
    )
    -- Names are looked up cell by cell, so that the cost follows the edit whatever the planner expects of it.
    select
        change.schema_id, change.version, change.entity_id, change.entity_version,
        cell.attribute_id, cell.entity_attribute_id,
        change.schema, change.entity,
        (
            select a.name from metl.attribute_version as a
            where a.attribute_id = cell.attribute_id and a.version = change.version
        ),
        (
            select a.name from metl.entity_attribute_version as a
            where a.entity_attribute_id = cell.entity_attribute_id and a.version = change.entity_version
        ),
        cell.fate,
        case cell.fate
            when 'lost' then 'edited'
            when 'gained' then (
                select format('%s to %s: %s', source.type, target.type, metl.cast_effect(source.type, target.type))
                from metl.attribute as source
                inner join metl.entity_attribute as target on target.entity_attribute_id = cell.entity_attribute_id
                where
                    source.attribute_id = cell.attribute_id
                    and metl.cast_effect(source.type, target.type) in ('may not fit', 'no cast')
            )
        end
    from change
    cross join lateral (
        select
            coalesce(old.attribute_id, new.attribute_id) as attribute_id,
            coalesce(old.entity_attribute_id, new.entity_attribute_id) as entity_attribute_id,
            case when new.attribute_id is null then 'lost' when old.attribute_id is null then 'gained' else 'kept' end as fate
        from metl._pairs(change.old_content) as old
        full join metl._pairs(change.content) as new
            on old.attribute_id = new.attribute_id and old.entity_attribute_id = new.entity_attribute_id
    ) as cell
$$;
comment on function metl._block_plan(metl._block_content[]) is 'What edits do to the cells of their blocks.';
-- sql/private/run.sql
create or replace function metl._run(
    schema_id int, version int, entity_id int, entity_version int, content bigint[]
) returns metl._block_content[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _run_end int;
begin
    select min(block.version) into _run_end from metl.block
    where
        block.schema_id = _run.schema_id
        and block.entity_id = _run.entity_id
        and block.entity_version = _run.entity_version
        and block.version > _run.version
        and block.until is null;
    return array(
        select (_run.schema_id, v.version, _run.entity_id, _run.entity_version, coalesce((
            select array_agg(array[pair.attribute_id, pair.entity_attribute_id] order by pair.attribute_id)
            from metl._pairs(_run.content) as pair
            inner join metl.attribute_version as present
                on pair.attribute_id = present.attribute_id and present.version = v.version
        ), '{}'))::metl._block_content
        from metl.schema_version as v
        where
            v.schema_id = _run.schema_id
            and v.version >= _run.version
            and (v.version < _run_end or _run_end is null)
            and v.deleted is null
    );
end $$;
comment on function metl._run(int, int, int, int, bigint[]) is
'A block and all later ones of its run, with a content as far as its attributes go on.';
-- sql/private/summary.sql
create or replace function metl._summary(
    schema text, version int, entity text, entity_version int, plan metl._cell_fate[]
) returns jsonb
language sql immutable
as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'schema', _summary.schema, 'version', _summary.version,
        'entity', _summary.entity, 'entity_version', _summary.entity_version,
        'kept', count(*) filter (where cell.fate = 'kept'),
        'lost', count(*) filter (where cell.fate = 'lost'),
        'gained', count(*) filter (where cell.fate = 'gained')
    ))
    from unnest(plan) as cell
$$;
comment on function metl._summary(text, int, text, int, metl._cell_fate[]) is 'What a state says of its change.';
-- sql/private/tell.sql
create or replace function metl._tell(
    state bigint, plan metl._cell_fate[], is_known boolean default false, likely_renames jsonb default '[]'
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if exists (select from unnest(plan) as cell where cell.reason is not null) then
        insert into metl.notice (
            state, kind, schema, version, entity, entity_version, lost, likely_renames, confirmed_at, confirmed_by
        )
        select
            _tell.state, told.kind, told.schema, told.version, told.entity, told.entity_version, told.lost,
            metl._renames_of(told.lost, _tell.likely_renames),
            case when is_known then clock_timestamp() end, case when is_known then session_user end
        from (
            select case when block.is_empty then 'vanished' else 'shrunk' end as kind, block.*
            from metl._lost_by_block(plan, array['dropped', 'edited']) as block
            union all
            select reason.reason, block.*
            from unnest(array['type_changed', 'frozen', 'came_back']) as reason (reason)
            cross join lateral metl._lost_by_block(plan, array[reason.reason]) as block
            where reason.reason in (select cell.reason from unnest(plan) as cell)
        ) as told
        order by told.schema, told.version, told.entity;
    elsif (select bool_and(cell.fate = 'kept') from unnest(plan) as cell) then
        -- One for the whole update; nothing to decide, so that nobody has to confirm it.
        insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, confirmed_at)
        select
            _tell.state, 'unchanged',
            case when min(cell.schema) = max(cell.schema) then min(cell.schema) end,
            case when min(cell.version) = max(cell.version) then min(cell.version) end,
            case when min(cell.entity) = max(cell.entity) then min(cell.entity) end,
            case when min(cell.entity_version) = max(cell.entity_version) then min(cell.entity_version) end,
            '[]', clock_timestamp()
        from unnest(plan) as cell;
    end if;
end $$;
comment on function metl._tell(bigint, metl._cell_fate[], boolean, jsonb) is
'Leaves the notices of an update, block by block; whoever made the edit himself knows of it already.';

create or replace function metl._lost_by_block(plan metl._cell_fate[], reasons text[])
returns table (schema text, version int, entity text, entity_version int, lost jsonb, is_empty boolean)
language sql immutable
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        jsonb_agg(
            jsonb_build_object('attribute', cell.attribute, 'entity_attribute', cell.entity_attribute)
            order by cell.entity_attribute
        ) filter (where cell.reason = any(reasons)),
        not bool_or(cell.fate in ('kept', 'gained'))
    from unnest(plan) as cell
    group by cell.schema, cell.version, cell.entity, cell.entity_version
    having bool_or(cell.reason = any(reasons))
$$;
comment on function metl._lost_by_block(metl._cell_fate[], text[]) is
'The cells that are lost (or suggested) for one of some reasons, block by block.';
-- sql/private/must_wait.sql
create or replace function metl._must_wait(plan metl._cell_fate[]) returns boolean
language sql stable
as $$
    select exists (
        select from (
            select distinct cell.schema_id, cell.entity_id
            from unnest(plan) as cell
            where cell.fate = 'lost' and cell.reason <> 'frozen'
        ) as losing
        where metl._policy(losing.schema_id, losing.entity_id) = 'confirm'
    )
$$;
comment on function metl._must_wait(metl._cell_fate[]) is
'Whether an update would lose cells for which somebody wants to be asked.';
-- sql/private/likely_renames.sql
create or replace function metl._bigrams(name text) returns text[]
language sql immutable
as $$
    select array(
        select distinct substr(letters.text, place, 2)
        from (
            select coalesce(
                nullif(lower(regexp_replace(_bigrams.name, '[[:punct:][:space:]]', '', 'g')), ''), _bigrams.name
            ) as text
        ) as letters
        cross join generate_series(1, greatest(length(letters.text) - 1, 1)) as place
    )
$$;
comment on function metl._bigrams(text) is
'The pairs of letters that follow each other in a name, whatever its case and underscores.';

create or replace function metl._likely_renames(schema text, version int, fresh metl._given_attribute[])
returns table (attribute text, renamed_to text, score numeric)
language sql stable
as $$
    with known as (
        select s.schema_id, metl._live_version_before(s.schema_id, _likely_renames.version) as before
        from metl.schema as s
        where s.name = _likely_renames.schema
    ),
    matched as materialized (
        select * from metl._match_schema_attributes(_likely_renames.schema, _likely_renames.version, fresh)
    ),
    lower_version as (
        select
            old.name, old.source_type, identity.type, old.position,
            exists (select from matched where matched.previous_name = old.name) as goes_on
        from known
        inner join metl.attribute_version as old on known.schema_id = old.schema_id and known.before = old.version
        inner join metl.attribute as identity on old.attribute_id = identity.attribute_id
    ),
    -- How many that go on stand before it tells the place, whatever else came and went.
    gone as materialized (
        select placed.*, metl._bigrams(placed.name) as bigrams
        from (
            select *, count(*) filter (where goes_on) over (order by position) as place from lower_version
        ) as placed
        where not placed.goes_on
    ),
    come as materialized (
        select placed.*, metl._bigrams(placed.name) as bigrams
        from (
            select
                each.name, each.source_type, each.type, each.position,
                matched.id is null and matched.previous_name is null as is_new,
                count(*) filter (where matched.previous_name is not null) over (order by each.position) as place
            from unnest(fresh) as each
            inner join matched on each.name = matched.name
        ) as placed
        where placed.is_new
    ),
    pair as (
        select
            gone.name as attribute, come.name as renamed_to, abs(gone.position - come.position) as distance,
            2.0 * (
                select count(*) from unnest(gone.bigrams) as bigram where bigram = any(come.bigrams)
            ) / (cardinality(gone.bigrams) + cardinality(come.bigrams)) as likeness,
            case
                when gone.place <> come.place then 0
                -- One that is dropped at the end and one that is added stand at the same place, too.
                when gone.place = (select count(*) from lower_version where goes_on) then 0.5
                else 1
            end as is_in_place,
            case when gone.source_type = come.source_type then 1 else 0.95 end as same_type
        from gone
        inner join come on gone.type = come.type
    ),
    scored as (
        -- Either is a reason of its own, and neither is a proof.
        select *, round((1 - (1 - 0.9 * likeness) * (1 - 0.6 * is_in_place)) * same_type, 2) as score from pair
    ),
    ranked as (
        select
            scored.*,
            row_number() over (partition by attribute order by score desc, distance, renamed_to) as of_old,
            row_number() over (partition by renamed_to order by score desc, distance, attribute) as of_new
        from scored
    )
    select ranked.attribute, ranked.renamed_to, ranked.score
    from ranked
    where ranked.of_old = 1 and ranked.of_new = 1 and ranked.score >= 0.5
    order by ranked.score desc, ranked.attribute
$$;
comment on function metl._likely_renames(text, int, metl._given_attribute[]) is
'Which attributes that are gone in a new version look renamed: to one of the same generalized type that came, by '
'name and place; score from 0.5 to 1.';

create or replace function metl._renames_of(lost jsonb, likely_renames jsonb) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_agg(rename.value order by rename.nth), '[]')
    from jsonb_array_elements(likely_renames) with ordinality as rename (value, nth)
    where lost @> jsonb_build_array(jsonb_build_object('attribute', rename.value -> 'attribute'))
$$;
comment on function metl._renames_of(jsonb, jsonb) is 'Those likely renames that would spare some of these cells.';

create or replace function metl._sparing_renames(
    schema text, version int, fresh metl._given_attribute[], plan metl._cell_fate[]
) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Most versions lose nothing, and need no guess.
    if not exists (select from unnest(plan) as cell where cell.reason = 'dropped') then
        return '[]';
    end if;
    return metl._renames_of(metl._lost(plan), coalesce((
        select jsonb_agg(to_jsonb(rename)) from metl._likely_renames(schema, version, fresh) as rename
    ), '[]'));
end $$;
comment on function metl._sparing_renames(text, int, metl._given_attribute[], metl._cell_fate[]) is
'The likely renames of a new version that would spare cells which it loses.';
-- sql/private/wait.sql
create or replace function metl._lost(plan metl._cell_fate[]) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'schema', cell.schema, 'version', cell.version, 'entity', cell.entity,
        'attribute', cell.attribute, 'entity_attribute', cell.entity_attribute
    )), '[]')
    from unnest(plan) as cell
    where cell.fate = 'lost' and cell.reason <> 'frozen'
$$;
comment on function metl._lost(metl._cell_fate[]) is 'The cells that an update loses.';

create or replace function metl._wait(
    kind text, name text, version int, attributes jsonb, refs jsonb, plan metl._cell_fate[],
    description text default null, likely_renames jsonb default '[]'
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan_id bigint;
    _state bigint := metl.current_state();
begin
    insert into metl.waiting_plan (kind, name, version, attributes, refs, lost, description, likely_renames)
    values (
        _wait.kind, _wait.name, _wait.version, _wait.attributes, _wait.refs, metl._lost(plan), _wait.description,
        _wait.likely_renames
    )
    returning plan_id into _plan_id;
    insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, plan_id, likely_renames)
    select
        _state, 'waiting', block.schema, block.version, block.entity, block.entity_version, block.lost, _plan_id,
        metl._renames_of(block.lost, _wait.likely_renames)
    from metl._lost_by_block(plan, array['dropped', 'type_changed']) as block;
    raise notice using
        message = format('Version %s of %L waits as plan %s, since it would lose cells.', version, name, _plan_id),
        hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id) || coalesce((
            select format(
                ' If it is a rename: select metl.confirm_plan(%s, %L).', _plan_id,
                jsonb_object_agg(rename.value ->> 'attribute', rename.value ->> 'renamed_to')
            )
            from jsonb_array_elements(_wait.likely_renames) as rename
            having count(*) > 0
        ), '');
    return _state;
end $$;
comment on function metl._wait(text, text, int, jsonb, jsonb, metl._cell_fate[], text, jsonb) is
'Keeps an update as a plan until somebody confirms or rejects it; no state is consumed.';

create or replace function metl._refuse_to_overtake(kind text, name text, version int) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _waiting metl.waiting_plan;
begin
    select * into _waiting from metl.waiting_plan as waiting
    where
        waiting.kind = _refuse_to_overtake.kind
        and waiting.name = _refuse_to_overtake.name
        and waiting.version <= _refuse_to_overtake.version
        and waiting.decision is null
    order by waiting.version
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Version %s of %L waits as plan %s, so that version %s cannot be added yet.',
                             _waiting.version, name, _waiting.plan_id, version),
            hint = format('Decide it first: select metl.confirm_plan(%s) or metl.reject_plan(%s) (`metl plans`).',
                          _waiting.plan_id, _waiting.plan_id);
    end if;
end $$;
comment on function metl._refuse_to_overtake(text, text, int) is
'Refuses a version while one up to it waits: it would copy from the wrong version and lose what that one keeps.';

create or replace function metl._refuse_new_losses(plan metl._cell_fate[], approved jsonb) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not metl._lost(plan) <@ approved then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The plan would now lose cells that it did not show: %s', metl._lost(plan)),
            hint = 'Mappings have changed since. Reject it and add the version again.';
    end if;
end $$;
comment on function metl._refuse_new_losses(metl._cell_fate[], jsonb) is
'Refuses to lose more than whoever confirms a plan was shown.';
-- sql/private/rename_attributes.sql
create or replace function metl._rename_attributes(plan metl.waiting_plan, renames jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _owner text := format('version %s of %L', plan.version, plan.name);
    _schema_id int;
    _fresh metl._given_attribute[];
    _wrong record;
begin
    if plan.kind <> 'schema_version' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Plan %s adds a version of entity %L, whose attributes say themselves what they were.',
                             plan.plan_id, plan.name),
            hint = 'Reject it and add the version again with renamed_from.';
    end if;
    if jsonb_typeof(renames) <> 'object' or exists (
        select from jsonb_each(renames) as rename where jsonb_typeof(rename.value) <> 'string'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The renames are not names by names: %s', left(renames::text, 100)),
            hint = 'Give {"old name": "new name", …}.';
    end if;
    select s.schema_id into _schema_id from metl.schema as s where s.name = plan.name;
    _fresh := metl._read_attributes(_owner, plan.attributes);
    with matched as (
        select matched.*, each.type
        from metl._match_schema_attributes(plan.name, plan.version, _fresh) as matched
        inner join unnest(_fresh) as each on matched.name = each.name
    ),
    gone as (
        select known.name, known.type
        from unnest(
            metl._schema_attributes(_schema_id, metl._live_version_before(_schema_id, plan.version))
        ) as known
        where known.name not in (select m.previous_name from matched as m where m.previous_name is not null)
    ),
    come as (
        select matched.name, matched.type from matched where matched.previous_name is null
    ),
    given as (
        select rename.key as old, rename.value as new, count(*) over (partition by rename.value) as claims
        from jsonb_each_text(renames) as rename
    )
    select
        case
            when gone.name is null then format('%L is not gone in %s.', given.old, _owner)
            when come.name is null then format('%L did not come in %s.', given.new, _owner)
            when gone.type <> come.type
                then format('%L is of type %s and %L of type %s, so that it cannot be the same attribute.',
                            given.old, gone.type, given.new, come.type)
            else format('Two attributes cannot both be renamed to %L.', given.new)
        end as message,
        format('Gone are %s; new are %s.', coalesce(
            (select string_agg(format('%s (%s)', g.name, g.type), ', ' order by g.name) from gone as g), 'none'
        ), coalesce(
            (select string_agg(format('%s (%s)', c.name, c.type), ', ' order by c.name) from come as c), 'none'
        )) as hint
    into _wrong
    from given
    left join gone on given.old = gone.name
    left join come on given.new = come.name
    where gone.type is distinct from come.type or gone.type is null or given.claims > 1
    order by given.old
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value', message = _wrong.message, hint = _wrong.hint;
    end if;
    return (
        select coalesce(jsonb_agg(
            each.value || coalesce((
                select jsonb_build_object('renamed_from', rename.key)
                from jsonb_each_text(renames) as rename where rename.value = each.value ->> 'name'
            ), '{}')
            order by each.nth
        ), '[]')
        from jsonb_array_elements(plan.attributes) with ordinality as each (value, nth)
    );
end $$;
comment on function metl._rename_attributes(metl.waiting_plan, jsonb) is
'The attributes of a plan with renamed_from where somebody says so: each old name is gone and each new one came, '
'one to one and of the same generalized type.';
-- sql/private/decide.sql
create or replace function metl._decide(plan_id bigint, decision text) returns metl.waiting_plan
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan metl.waiting_plan;
begin
    select * into _plan from metl.waiting_plan as waiting where waiting.plan_id = _decide.plan_id;
    if not found or _plan.decision is not null then
        raise exception using
            errcode = 'undefined_object',
            message = format(
                'No plan %s waits%s.', coalesce(plan_id::text, 'null'),
                case when found then format(': it was %s by %s', _plan.decision, _plan.decided_by) else '' end
            ),
            hint = 'metl.plans (`metl plans`) lists those that wait.';
    end if;
    update metl.waiting_plan
    set decision = _decide.decision, decided_at = clock_timestamp(), decided_by = session_user
    where waiting_plan.plan_id = _decide.plan_id;
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where notice.plan_id = _decide.plan_id and notice.confirmed_at is null;
    return _plan;
end $$;
comment on function metl._decide(bigint, text) is 'Records who decided a waiting plan, and when.';
-- sql/views/notices.sql
create or replace view metl.notices as
select state, kind, schema, version, entity, entity_version, lost, created_at, confirmed_at, likely_renames
from metl.notice;
comment on view metl.notices is
'What there is to tell: cells lost, names that came back, versions of registries that metl.registry_versions explains.';
-- sql/views/plans.sql
create or replace view metl.plans as
select
    plan_id,
    kind,
    name,
    version,
    attributes,
    created_at,
    created_by,
    coalesce(decision, 'waiting') as decision,
    decided_at,
    decided_by,
    state,
    refs,
    lost,
    description,
    likely_renames,
    renames
from metl.waiting_plan;
comment on view metl.plans is 'Updates that waited or wait for somebody to confirm or reject them.';
-- sql/functions/confirm_notices.sql
create or replace function metl.confirm_notices(state bigint) returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _confirmed int;
begin
    -- Confirming takes its turn like every write: two in opposite orders would wait for each other.
    perform metl._lock();
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where notice.state = confirm_notices.state and notice.confirmed_at is null and notice.kind <> 'waiting';
    get diagnostics _confirmed = row_count;
    return _confirmed;
end $$;
comment on function metl.confirm_notices(bigint) is
'Marks the notices of a state as seen; returns how many. Those of waiting plans go with their plan.';
-- sql/functions/plan_schema_version.sql
create or replace function metl.plan_schema_version(schema text, version int, attributes jsonb)
returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._column_plan(
        schema, version, metl._read_attributes(format('schema %L version %s', schema, version), attributes)
    ) as cell
$$;
comment on function metl.plan_schema_version(text, int, jsonb) is
'What adding a schema version would do to each cell of the version before it, without doing it.';
-- sql/functions/plan_renames.sql
create or replace function metl.plan_renames(schema text, version int, attributes jsonb)
returns table (attribute text, renamed_to text, score numeric)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select rename.*
    from metl._likely_renames(schema, version, metl._read_attributes(
        format('schema %L version %s', schema, version), metl._settle_draft(schema, version, attributes)
    )) as rename;
end $$;
comment on function metl.plan_renames(text, int, jsonb) is
'Which attributes of the version before look renamed in a schema version that is to be added, the likeliest first.';
-- sql/functions/plan_schema_version_end.sql
create or replace function metl.plan_schema_version_end(schema text, version int)
returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._require_schema_version(schema, version);
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._column_end(plan_schema_version_end.schema, plan_schema_version_end.version) as cell;
end $$;
comment on function metl.plan_schema_version_end(text, int) is
'What deleting a schema version would do, without doing it.';
-- sql/functions/plan_entity_version.sql
create or replace function metl.plan_entity_version(entity text, version int, attributes jsonb)
returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._row_plan(
        entity, version, metl._read_attributes(format('entity %L version %s', entity, version), attributes)
    ) as cell
$$;
comment on function metl.plan_entity_version(text, int, jsonb) is
'What elevating an entity to a new version would do to each cell of the live one, without doing it.';
-- sql/functions/plan_entity_version_end.sql
create or replace function metl.plan_entity_version_end(entity text, version int)
returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._require_entity_version(entity, version);
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._row_end(plan_entity_version_end.entity, plan_entity_version_end.version) as cell;
end $$;
comment on function metl.plan_entity_version_end(text, int) is
'What deleting an entity version would do, without doing it.';
-- sql/private/settle_entity_renames.sql
create or replace function metl._settle_entity_renames(entity text, attributes jsonb) returns jsonb
language sql stable
as $$
    -- Whoever keeps entities in files leaves renamed_from there. It was done if the live version has the attribute
    -- and said so when it came, or in a version since: a later attribute of the old name is another one.
    with versions as (
        select v.entity_id, v.version, v.deleted is null as is_live
        from metl.entity as e inner join metl.entity_version as v on e.entity_id = v.entity_id
        where e.name = _settle_entity_renames.entity
    ),
    known as (
        select versions.*, attribute.name, attribute.renamed_from
        from versions
        inner join metl.entity_attribute_version as attribute
            on versions.entity_id = attribute.entity_id and versions.version = attribute.version
    ),
    done as (
        select live.name, known.renamed_from
        from known as live
        inner join known on live.name = known.name and known.renamed_from is not null
        where
            live.is_live
            and not exists (
                select from versions as since
                where
                    since.version > known.version
                    and not exists (
                        select from known as still where still.version = since.version and still.name = live.name
                    )
            )
    )
    select coalesce(jsonb_agg(
        case
            when exists (
                select from done
                where done.name = element.value ->> 'name' and done.renamed_from = element.value ->> 'renamed_from'
            ) then element.value - 'renamed_from'
            else element.value
        end
        order by element.position
    ), '[]')
    from jsonb_array_elements(attributes) with ordinality as element (value, position)
$$;
comment on function metl._settle_entity_renames(text, jsonb) is
'Attributes of an entity without the renames that were done in an earlier version.';
-- sql/private/entity_changes.sql
create or replace function metl._entity_changes(
    entity text, version int, fresh metl._given_attribute[], description text
) returns table (attribute text, change text, was text, becomes text)
language sql stable
as $$
    with live as (
        select v.entity_id, v.version, v.description
        from metl.entity as e
        inner join metl.entity_version as v on e.entity_id = v.entity_id and v.deleted is null
        where e.name = _entity_changes.entity
    ),
    known as (
        select a.name, a.position, a.optional, a.description, identity.type
        from live
        inner join metl.entity_attribute_version as a on live.entity_id = a.entity_id and live.version = a.version
        inner join metl.entity_attribute as identity on a.entity_attribute_id = identity.entity_attribute_id
    ),
    compared as (
        select
            each.position, each.name, each.type, each.optional, each.renamed_from, matched.previous_name,
            coalesce(each.description, '') as description,
            known.type as known_type, known.optional as known_optional,
            coalesce(known.description, '') as known_description
        from unnest(fresh) as each
        inner join metl._match_entity_attributes(_entity_changes.entity, _entity_changes.version, fresh) as matched
            on each.name = matched.name
        left join known on matched.previous_name = known.name
    )
    select change.attribute, change.change, change.was, change.becomes
    from (
        select 0 as place, null as attribute, 'described' as change, live.description as was,
            _entity_changes.description as becomes
        from live
        where coalesce(live.description, '') <> coalesce(_entity_changes.description, '')
        union all
        select compared.position, compared.name, difference.*
        from compared
        cross join lateral (
            -- What it says to be renamed from is not there.
            select 'added', compared.renamed_from, compared.type where compared.previous_name is null
            union all
            select 'renamed', compared.previous_name, compared.name where compared.previous_name <> compared.name
            union all
            select 'retyped', compared.known_type, compared.type where compared.known_type <> compared.type
            union all
            select case when compared.optional then 'made optional' else 'made mandatory' end, null, null
            where compared.known_optional <> compared.optional
            union all
            select 'described', compared.known_description, compared.description
            where compared.previous_name is not null and compared.known_description <> compared.description
        ) as difference (change, was, becomes)
        union all
        select known.position + cardinality(fresh), known.name, 'dropped', known.type, null
        from known
        where known.name not in (select c.previous_name from compared as c where c.previous_name is not null)
    ) as change
    order by change.place, change.change
$$;
comment on function metl._entity_changes(text, int, metl._given_attribute[], text) is
'In what the live version of an entity differs from what is given; the order of attributes is no difference.';
-- sql/functions/draft_entity_version.sql
create or replace function metl.draft_entity_version(entity text, attributes jsonb, description text default null)
returns table (
    live_version int, next_version int, draft jsonb, changes jsonb, policy text, plan_id bigint, is_planned boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _owner text := format('entity %L', entity);
    _fresh metl._given_attribute[];
    _plan metl._cell_fate[];
begin
    perform metl._check_name('entity', entity);
    perform metl._read_attributes(_owner, attributes);
    draft := metl._settle_entity_renames(entity, attributes);
    _fresh := metl._read_attributes(_owner, draft);
    select max(v.version) filter (where v.deleted is null), coalesce(max(v.version), 0) + 1
    into live_version, next_version
    from metl.entity_version as v inner join metl.entity as e using (entity_id)
    where e.name = draft_entity_version.entity;
    changes := (
        select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(difference))), '[]')
        from metl._entity_changes(entity, next_version, _fresh, description) as difference
    );
    if live_version is not null and changes = '[]' then
        next_version := null;
    else
        _plan := array(select planned from metl._row_plan(entity, next_version, _fresh) as planned);
        policy := case
            when exists (
                select from (select distinct cell.schema_id, cell.entity_id from unnest(_plan) as cell) as mapped
                where metl._policy(mapped.schema_id, mapped.entity_id) = 'freeze'
            ) then 'freeze'
            when metl._must_wait(_plan) then 'confirm'
            else 'auto'
        end;
        select
            waiting.plan_id,
            metl._read_attributes(_owner, waiting.attributes) = _fresh
            and coalesce(waiting.description, '') = coalesce(draft_entity_version.description, '')
        into plan_id, is_planned
        from metl.waiting_plan as waiting
        where
            waiting.kind = 'entity_version'
            and waiting.name = draft_entity_version.entity
            and waiting.version <= next_version
            and waiting.decision is null
        order by waiting.version limit 1;
    end if;
    return next;
end $$;
comment on function metl.draft_entity_version(text, jsonb, text) is
'What has to be added for an entity to be as given: the next version (null if it is so already), its attributes '
'without renames that were done before, in what it differs from the live one, the strictest policy that applies to '
'its mappings, and the plan that has to be decided first, if one waits (is_planned: it is this very update).';
-- sql/functions/plan_block.sql
create or replace function metl.plan_block(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._block_plan(array[(
        _schema_id, plan_block.version, _entity_id, plan_block.entity_version,
        metl._read_mapping(_schema_id, plan_block.version, _entity_id, plan_block.entity_version, mapping)
    )::metl._block_content]) as cell;
end $$;
comment on function metl.plan_block(text, int, text, int, jsonb) is
'What setting a block would do to its cells, without doing it.';
-- sql/functions/plan_run.sql
create or replace function metl.plan_run(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._block_plan(metl._run(
        _schema_id, plan_run.version, _entity_id, plan_run.entity_version,
        metl._read_mapping(_schema_id, plan_run.version, _entity_id, plan_run.entity_version, mapping)
    )) as cell;
end $$;
comment on function metl.plan_run(text, int, text, int, jsonb) is
'What setting a block and all later ones of its run would do to their cells, without doing it.';
-- sql/functions/simulate.sql
create or replace function metl.simulate(schema text, attributes jsonb) returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema(schema);
    _next int := 1 + (select max(v.version) from metl.schema_version as v where v.schema_id = _schema_id);
begin
    return query
    select cell.*
    from metl.plan_schema_version(
        simulate.schema, _next, metl._settle_draft(simulate.schema, _next, attributes)
    ) as cell
    where cell.fate = 'lost' and cell.reason <> 'frozen';
end $$;
comment on function metl.simulate(text, jsonb) is
'The cells that a draft of the next version would lose; no rows: it is safe. For the CI of whoever owns the schema.';
-- sql/private/add_schema_version.sql
create or replace function metl._add_schema_version(
    schema text, version int, attributes jsonb, refs jsonb, approved jsonb default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _fresh metl._given_attribute[];
    _used metl.schema_version;
    _plan metl._cell_fate[];
    _likely_renames jsonb;
    _state bigint;
    _schema_id int;
begin
    perform metl._check_name('schema', schema);
    perform metl._lock();
    select v.* into _used
    from metl.schema_version as v inner join metl.schema as s using (schema_id)
    where s.name = _add_schema_version.schema and v.version = _add_schema_version.version;
    perform metl._require_new_version('schema', schema, version, _used.added, _used.deleted);
    if approved is null then
        perform metl._refuse_to_overtake('schema_version', schema, version);
    end if;
    _fresh := metl._read_attributes(format('schema %L version %s', schema, version), attributes);
    -- What is wrong with the refs is said now, not when a plan is confirmed.
    perform metl._read_refs(schema, version, refs);

    _plan := array(select planned from metl._column_plan(schema, version, _fresh) as planned);
    _likely_renames := metl._sparing_renames(schema, version, _fresh, _plan);
    if approved is not null then
        perform metl._refuse_new_losses(_plan, approved);
    elsif metl._must_wait(_plan) then
        return metl._wait(
            'schema_version', schema, version, attributes, refs, _plan, likely_renames => _likely_renames
        );
    end if;
    _state := metl._advance('add_schema_version', metl._summary(schema, version, null, null, _plan));
    _schema_id := metl._insert_schema_version(_state, schema, version, _fresh);
    perform metl._store_refs(_state, _schema_id, schema, version, refs);
    perform metl._store(_state, array(
        select (_schema_id, _add_schema_version.version, cell.entity_id, cell.entity_version, coalesce(
            array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id)
            filter (where cell.fate = 'kept'), '{}'
        ))::metl._block_content
        from unnest(_plan) as cell
        where cell.fate in ('kept', 'lost')
        group by cell.entity_id, cell.entity_version
        -- A block that is carried over whole is part of the run already.
        having bool_or(cell.fate = 'lost')
    ));
    perform metl._tell(_state, _plan, likely_renames => _likely_renames);
    return _state;
end $$;
comment on function metl._add_schema_version(text, int, jsonb, jsonb, jsonb) is
'Adds a schema version and carries the blocks of the next lower live version over; waits if it must.';
-- sql/private/add_entity_version.sql
create or replace function metl._add_entity_version(
    entity text, version int, attributes jsonb, description text default null, approved jsonb default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _fresh metl._given_attribute[];
    _used metl.entity_version;
    _live int;
    _plan metl._cell_fate[];
    _frozen text;
    _state bigint;
    _entity_id int;
begin
    perform metl._check_name('entity', entity);
    perform metl._lock();
    select v.* into _used
    from metl.entity_version as v inner join metl.entity as e using (entity_id)
    where e.name = _add_entity_version.entity and v.version = _add_entity_version.version;
    perform metl._require_new_version('entity', entity, version, _used.added, _used.deleted);
    if approved is null then
        perform metl._refuse_to_overtake('entity_version', entity, version);
    end if;
    select v.version into _live
    from metl.entity_version as v inner join metl.entity as e using (entity_id)
    where e.name = _add_entity_version.entity and v.deleted is null;
    if _live > version then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Entity %L is at version %s already; version %s would be a second live one.', entity, _live, version),
            hint = format('Take a number above %s: a new version takes the place of the one before it.', _live);
    end if;
    _fresh := metl._read_attributes(format('entity %L version %s', entity, version), attributes);

    _plan := array(select planned from metl._row_plan(entity, version, _fresh) as planned);
    select mapped.schema into _frozen
    from (select distinct cell.schema_id, cell.entity_id, cell.schema from unnest(_plan) as cell) as mapped
    where metl._policy(mapped.schema_id, mapped.entity_id) = 'freeze' limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen, and a new version of the entity would end it.',
                             _frozen, entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl policy set`).',
                          _frozen, entity);
    end if;
    if approved is not null then
        perform metl._refuse_new_losses(_plan, approved);
    elsif metl._must_wait(_plan) then
        return metl._wait('entity_version', entity, version, attributes, '{}', _plan, description);
    end if;
    _state := metl._advance('add_entity_version', metl._summary(null, null, entity, version, _plan));
    _entity_id := metl._insert_entity_version(_state, entity, version, description, _fresh);
    perform metl._elevate(_state, _entity_id, _live, version);
    perform metl._tell(_state, _plan);
    return _state;
end $$;
comment on function metl._add_entity_version(text, int, jsonb, text, jsonb) is
'Adds an entity version, carries the rows of the live one over and lets it take its place; waits if it must.';

create or replace function metl._elevate(state bigint, entity_id int, old_version int, new_version int) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform metl._replace(_elevate.state, array(
        with old as (
            select block.schema_id, block.version, block.block_id
            from metl.block
            where
                block.entity_id = _elevate.entity_id
                and block.entity_version = _elevate.old_version
                and block.until is null
        ),
        carried as (
            select old.schema_id, old.version, coalesce((
                select array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id)
                from metl.cell
                inner join metl.entity_attribute_version as kept
                    on cell.entity_attribute_id = kept.entity_attribute_id and kept.version = _elevate.new_version
                where cell.block_id = old.block_id
            ), '{}') as content
            from old
        ),
        compared as (
            select
                carried.*,
                lag(carried.content, 1, '{}') over (partition by carried.schema_id order by carried.version) as before
            from carried
        )
        select (old.schema_id, old.version, _elevate.entity_id, _elevate.old_version, null)::metl._block_content
        from old
        union all
        select (
            compared.schema_id, compared.version, _elevate.entity_id, _elevate.new_version, compared.content
        )::metl._block_content
        from compared
        where compared.content is distinct from compared.before
    ));
end $$;
comment on function metl._elevate(bigint, int, int, int) is
'Moves every block of an entity version to the next one, as far as its attributes go on.';
-- sql/functions/add_schema_version.sql
-- Here and in every writer: security definer, since stewards write through functions, never to tables;
-- generic plans, since planning each query anew would cost more than running it.
create or replace function metl.add_schema_version(schema text, version int, attributes jsonb) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_schema_version(schema, version, attributes, '{}') $$;
comment on function metl.add_schema_version(text, int, jsonb) is
'Adds a version of an extraction schema with the mappings of the next lower live version; returns the new state.';

create or replace function metl.add_schema_version(
    schema text, version int, attributes jsonb, refs jsonb
) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_schema_version(schema, version, attributes, refs) $$;
comment on function metl.add_schema_version(text, int, jsonb, jsonb) is
'The same, and says by what messages name the version, as metl.set_refs does; all in one state.';
-- sql/functions/add_entity_version.sql
create or replace function metl.add_entity_version(entity text, version int, attributes jsonb) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_entity_version(entity, version, attributes) $$;
comment on function metl.add_entity_version(text, int, jsonb) is
'Adds a version of an entity, which takes the place of the one before with its mappings; returns the new state.';

create or replace function metl.add_entity_version(
    entity text, version int, attributes jsonb, description text
) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_entity_version(entity, version, attributes, description) $$;
comment on function metl.add_entity_version(text, int, jsonb, text) is
'The same, and says what the entity means.';
-- sql/functions/delete_schema_version.sql
create or replace function metl.delete_schema_version(schema text, version int) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _state bigint;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _state := metl._advance('delete_schema_version', metl._summary(schema, version, null, null, array(
        select planned from metl._column_end(schema, version) as planned
    )));
    update metl.schema_version set deleted = _state
    where schema_version.schema_id = _schema_id and schema_version.version = delete_schema_version.version;
    update metl.schema_ref set until = _state
    where
        schema_ref.schema_id = _schema_id
        and schema_ref.version = delete_schema_version.version
        and schema_ref.until is null;
    -- Where it anchored a run, the run is anchored anew at the next live version.
    perform metl._store(_state, array(
        select (_schema_id, delete_schema_version.version, block.entity_id, block.entity_version, null)::metl._block_content
        from metl.block
        where
            block.schema_id = _schema_id
            and block.version = delete_schema_version.version
            and block.until is null
    ));
    return _state;
end $$;
comment on function metl.delete_schema_version(text, int) is
'Deletes a version of an extraction schema with its column of the matrix; returns the new state.';
-- sql/functions/delete_entity_version.sql
create or replace function metl.delete_entity_version(entity text, version int) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _entity_id int;
    _frozen text;
    _state bigint;
begin
    perform metl._lock();
    _entity_id := metl._require_entity_version(entity, version);
    select one.schema into _frozen from metl._ones as one
    where one.entity_id = _entity_id and metl._policy(one.schema_id, _entity_id) = 'freeze' limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen.', _frozen, entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl policy set`).',
                          _frozen, entity);
    end if;
    _state := metl._advance('delete_entity_version', metl._summary(null, null, entity, version, array(
        select planned from metl._row_end(entity, version) as planned
    )));
    update metl.entity_version set deleted = _state where entity_id = _entity_id and deleted is null;
    perform metl._replace(_state, array(
        select (block.schema_id, block.version, _entity_id, block.entity_version, null)::metl._block_content
        from metl.block
        where block.entity_id = _entity_id and block.until is null
    ));
    return _state;
end $$;
comment on function metl.delete_entity_version(text, int) is
'Deletes the live version of an entity with its rows of the matrix; returns the new state.';
-- sql/functions/set_refs.sql
create or replace function metl.set_refs(schema text, version int, refs jsonb) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _schema_id int;
    _state bigint;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _state := metl._advance('set_refs', metl._summary(schema, version, null, null, '{}'));
    perform metl._store_refs(_state, _schema_id, schema, version, refs);
    return _state;
end $$;
comment on function metl.set_refs(text, int, jsonb) is
'Says by what messages name a schema version, instead of what was said before: '
'{"global_id": 17, "content_id": [3, 8]}. Kinds are global_id, content_id, confluent_id, confluent_guid, fingerprint. '
'Returns the new state.';
-- sql/private/edit.sql
create or replace function metl._refuse_frozen(changes metl._block_content[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _frozen record;
begin
    select s.name as schema, e.name as entity into _frozen
    from (select distinct change.schema_id, change.entity_id from unnest(changes) as change) as edited
    inner join metl.schema as s on s.schema_id = edited.schema_id
    inner join metl.entity as e on e.entity_id = edited.entity_id
    where metl._policy(edited.schema_id, edited.entity_id) = 'freeze'
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen.', _frozen.schema, _frozen.entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl policy set`).',
                          _frozen.schema, _frozen.entity);
    end if;
end $$;
comment on function metl._refuse_frozen(metl._block_content[]) is 'Refuses edits of blocks that are frozen.';

create or replace function metl._remark(plan metl._cell_fate[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _shown constant int := 5;
    _risky text[] := array(
        select format('%s.%s → %s.%s (%s)', cell.schema, cell.attribute, cell.entity, cell.entity_attribute, cell.reason)
        from unnest(plan) as cell
        where cell.fate = 'gained' and cell.reason is not null
        group by 1
        order by 1
    );
begin
    if cardinality(_risky) > 0 then
        raise notice using
            message = format('Values of other types: %s%s.', array_to_string(_risky[:_shown], ', '), case
                when cardinality(_risky) > _shown then format(' and %s more', cardinality(_risky) - _shown) else ''
            end),
            hint = 'What does not fit is refused, never altered: warehouse._rejected has it.';
    end if;
end $$;
comment on function metl._remark(metl._cell_fate[]) is
'Says which new cells have types that differ so that values may be refused.';

create or replace function metl._edit(cause text, summary jsonb, changes metl._block_content[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _plan metl._cell_fate[];
    _state bigint;
begin
    perform metl._refuse_frozen(changes);
    _plan := array(select planned from metl._block_plan(changes) as planned);
    _state := metl._advance(_edit.cause, metl._summary(null, null, null, null, _plan) || _edit.summary);
    perform metl._store(_state, changes);
    perform metl._tell(_state, _plan, is_known => true);
    perform metl._remark(_plan);
    return _state;
end $$;
comment on function metl._edit(text, jsonb, metl._block_content[]) is 'Sets blocks by hand, as one state.';
-- sql/functions/set_block.sql
create or replace function metl.set_block(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _schema_id int;
    _entity_id int;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _entity_id := metl._require_entity_version(entity, entity_version);
    return metl._edit(
        'set_block',
        jsonb_build_object('schema', schema, 'version', version, 'entity', entity, 'entity_version', entity_version),
        array[(
            _schema_id, version, _entity_id, entity_version,
            metl._read_mapping(_schema_id, version, _entity_id, entity_version, mapping)
        )::metl._block_content]
    );
end $$;
comment on function metl.set_block(text, int, text, int, jsonb) is
'Sets one block: {"entity attribute": "attribute", …}, {} maps nothing. No other block changes. Returns the new state.';
-- sql/functions/set_run.sql
create or replace function metl.set_run(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _schema_id int;
    _entity_id int;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _entity_id := metl._require_entity_version(entity, entity_version);
    return metl._edit(
        'set_run',
        jsonb_build_object('schema', schema, 'version', version, 'entity', entity, 'entity_version', entity_version),
        metl._run(
            _schema_id, version, _entity_id, entity_version,
            metl._read_mapping(_schema_id, version, _entity_id, entity_version, mapping)
        )
    );
end $$;
comment on function metl.set_run(text, int, text, int, jsonb) is
'Sets a block and all later ones of its run, as far as their attributes go on. Returns the new state.';
-- sql/functions/set_blocks.sql
create or replace function metl.set_blocks(blocks jsonb) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _changes metl._block_content[];
    _twice record;
    _shape constant text := 'Give [{"schema": "…", "version": 1, "entity": "…", "entity_version": 1, '
        '"mapping": {"entity attribute": "attribute"}}, …].';
begin
    perform metl._lock();
    if blocks is null or jsonb_typeof(blocks) <> 'array' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The blocks are not an array: %s', coalesce(left(blocks::text, 100), 'null')),
            hint = _shape;
    end if;
    perform metl._refuse_blocks(blocks);
    _changes := array(
        select metl._read_block(element.value) from jsonb_array_elements(blocks) as element
    );
    select s.name as schema, change.version, e.name as entity into _twice
    from unnest(_changes) as change
    inner join metl.schema as s on s.schema_id = change.schema_id
    inner join metl.entity as e on e.entity_id = change.entity_id
    group by s.name, change.version, e.name having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The block of schema %L version %s and entity %L is given twice.',
                             _twice.schema, _twice.version, _twice.entity),
            hint = 'Give each block once.';
    end if;
    return metl._edit('set_blocks', jsonb_build_object('blocks', cardinality(_changes)), _changes);
end $$;
comment on function metl.set_blocks(jsonb) is
'Sets many blocks as one state, all or nothing; an error lists every block that cannot be set.';
-- sql/functions/check_mappings.sql
create or replace function metl.check_mappings(lines metl.mapping_line[])
returns table (line int, about text, value text, problem text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select * from metl._problems(array(select read from metl._read_lines(lines) as read)) $$;
comment on function metl.check_mappings(metl.mapping_line[]) is
'Everything that is wrong with some lines, as rows; no rows: metl.set_mappings would take them. '
'about is the column whose value is not known, if it is that.';
-- sql/private/changed_blocks.sql
create or replace function metl._changed_blocks(lines metl.mapping_line[], clear_others boolean)
returns metl._block_content[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _read metl._read_line[] := array(select read from metl._read_lines(lines) as read);
    _first record;
begin
    select problem.*, count(*) over () into _first from metl._problems(_read) as problem limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Line %s: %s', _first.line, _first.problem),
            detail = format('This is the first of %s problems, so that no line is taken.', _first.count),
            hint = 'metl.check_mappings lists them all. Mend them and give all lines again.';
    end if;
    return array(
        with wanted as materialized (
            select
                read.schema_id, read.live_version as version, read.entity_id, read.live_entity_version as entity_version,
                coalesce(
                    array_agg(array[read.attribute_id, read.entity_attribute_id] order by read.attribute_id)
                    filter (where not read.is_empty), '{}'
                ) as content
            from unnest(_read) as read
            group by read.schema_id, read.live_version, read.entity_id, read.live_entity_version
        ),
        cleared as (
            select one.schema_id, one.version, one.entity_id, one.entity_version, '{}'::bigint[] as content
            from metl._ones as one
            where clear_others
            group by one.schema_id, one.version, one.entity_id, one.entity_version
            having (one.schema_id, one.version, one.entity_id) not in (
                select wanted.schema_id, wanted.version, wanted.entity_id from wanted
            )
        ),
        goal as (
            select * from wanted
            union all
            select * from cleared
        )
        select (goal.schema_id, goal.version, goal.entity_id, goal.entity_version, goal.content)::metl._block_content
        from goal
        where
            goal.content
            is distinct from metl._content_at(goal.schema_id, goal.version, goal.entity_id, goal.entity_version)
        order by goal.schema_id, goal.version, goal.entity_id
    );
end $$;
comment on function metl._changed_blocks(metl.mapping_line[], boolean) is
'The blocks that some lines would change, with their new contents; an error if a line is wrong.';
-- sql/functions/plan_mappings.sql
create or replace function metl.plan_mappings(lines metl.mapping_line[], clear_others boolean default false)
returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    _changes metl._block_content[] := metl._changed_blocks(lines, clear_others);
begin
    perform metl._refuse_frozen(_changes);
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._block_plan(_changes) as cell;
end $$;
comment on function metl.plan_mappings(metl.mapping_line[], boolean) is
'What metl.set_mappings would do to the cells of the blocks that it changes, without doing it.';
-- sql/functions/set_mappings.sql
create or replace function metl.set_mappings(
    lines metl.mapping_line[], clear_others boolean default false
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
-- A session that began with a small matrix would go on to read all of it for each block of a large one.
set enable_seqscan = off
as $$
declare
    _changes metl._block_content[];
begin
    perform metl._lock();
    _changes := metl._changed_blocks(lines, clear_others);
    if cardinality(_changes) = 0 then
        return null;
    end if;
    return metl._edit('set_mappings', jsonb_build_object('blocks', cardinality(_changes)), _changes);
end $$;
comment on function metl.set_mappings(metl.mapping_line[], boolean) is
'Sets each block that is mentioned to exactly the lines given, as one state, all or nothing; with clear_others the '
'blocks that are not mentioned map nothing. Returns the new state, null if all was so already.';
-- sql/functions/confirm_plan.sql
create or replace function metl.confirm_plan(plan_id bigint, renames jsonb default null) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _plan metl.waiting_plan;
    _state bigint;
begin
    perform metl._lock();
    _plan := metl._decide(plan_id, 'confirmed');
    if renames is not null then
        _plan.attributes := metl._rename_attributes(_plan, renames);
    end if;
    _state := case _plan.kind
        when 'schema_version' then metl._add_schema_version(
            _plan.name, _plan.version, _plan.attributes, _plan.refs, _plan.lost
        )
        else metl._add_entity_version(
            _plan.name, _plan.version, _plan.attributes, _plan.description, _plan.lost
        )
    end;
    update metl.waiting_plan set state = _state, renames = confirm_plan.renames
    where waiting_plan.plan_id = confirm_plan.plan_id;
    return _state;
end $$;
comment on function metl.confirm_plan(bigint, jsonb) is
'Lets a waiting update happen; returns the new state. With renames, {"old": "new", …}, attributes of a schema version '
'that seem to be gone go on under their new names, and keep their cells.';
-- sql/functions/reject_plan.sql
create or replace function metl.reject_plan(plan_id bigint) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._lock();
    perform metl._decide(plan_id, 'rejected');
end $$;
comment on function metl.reject_plan(bigint) is 'Drops a waiting update; it stays on record.';
-- sql/views/registry_versions.sql
create or replace view metl.registry_versions as
select
    found.registry,
    found.registry_group,
    found.artifact,
    found.registry_version,
    found.artifact_type,
    found.global_id,
    found.content_id,
    found.confluent_id,
    found.registry_state,
    found.schema,
    found.version,
    case
        when found.gone_at is not null then 'gone'
        when found.outcome <> 'taken' then found.outcome
        when plan.plan_id is not null and plan.decision is null then 'waiting'
        when plan.decision = 'rejected' then 'rejected'
        when live.deleted is not null then 'deleted'
        else 'registered'
    end as outcome,
    case
        when found.outcome = 'pending' and found.gone_at is null then (
            select min(ahead.plan_id) from metl.waiting_plan as ahead
            where ahead.kind = 'schema_version' and ahead.name = found.schema and ahead.decision is null
        )
        else found.plan_id
    end as plan_id,
    found.problem,
    found.created_on,
    found.modified_on,
    found.seen_at,
    found.gone_at,
    found.entry
from metl.registry_version as found
left join metl.waiting_plan as plan on found.plan_id = plan.plan_id
left join metl.schema on found.schema = schema.name
left join metl.schema_version as live on schema.schema_id = live.schema_id and found.version = live.version;
comment on view metl.registry_versions is
'Every version that was seen in a registry, and what became of it: the version of the schema, or why there is none.';

create or replace view metl.registry_readings as
select registry, nullif(registry_group, '') as registry_group, read_until, read_at
from metl.registry_reading;
comment on view metl.registry_readings is
'Up to which moment, by its own clock, each registry was read: all of it (group null) or one group.';

create or replace view metl.registry_work as
with waiting as (
    select plan.plan_id, plan.name as schema
    from metl.waiting_plan as plan
    where plan.kind = 'schema_version' and plan.decision is null
)

select
    found.registry, 'take' as task, found.entry, found.registry_group, found.artifact, found.registry_version,
    found.artifact_type, found.position, found.global_id, found.content_id, found.confluent_id,
    found.schema, found.problem
from metl.registry_version as found
where
    found.outcome = 'pending'
    and found.gone_at is null
    and found.schema not in (select waiting.schema from waiting)
union all
select
    gone.registry, 'end', gone.entry, gone.registry_group, gone.artifact, gone.registry_version,
    gone.artifact_type, gone.position, gone.global_id, gone.content_id, gone.confluent_id,
    gone.schema, gone.problem
from metl.registry_version as gone
where
    gone.gone_at is not null
    and gone.outcome <> 'ended'
    and (
        gone.outcome <> 'taken'
        or gone.plan_id in (select waiting.plan_id from waiting)
        -- What takes its place comes first, so that mappings are carried over to it.
        or (
            gone.schema not in (select waiting.schema from waiting)
            and not exists (
                select from metl.registry_version as successor
                where
                    -- What another registry has waits for a pass of that one, perhaps for ever.
                    successor.registry = gone.registry
                    and successor.schema = gone.schema
                    and successor.outcome = 'pending'
                    and successor.gone_at is null
            )
        )
    );
comment on view metl.registry_work is
'What is to be done for metl.take_registry_version and metl.end_registry_version, by position.';
-- sql/private/read_listing.sql
create or replace function metl._read_listing(registry text, listing jsonb) returns metl.registry_version[]
language sql stable
as $$
    select array_agg((
        null, _read_listing.registry, found."group", found.artifact, found.version, found.type, found.position,
        found.global_id, found.content_id, found.confluent_id, found.state, found.created_on, found.modified_on,
        regexp_replace(found.artifact, '-value$', ''), null,
        case
            -- Keys, what METL publishes itself, what is not published yet, and what describes no messages.
            when found.artifact like '%-key' or found."group" = 'metl.cdm' or found.state = 'DRAFT' then 'passed over'
            -- Debezium's heartbeats and what it tells of snapshots are no rows.
            when found.artifact like any (array['\_\_debezium-heartbeat.%', 'metl.notifications.%']) then 'passed over'
            when found.type not in ('KCONNECT', 'JSON', 'AVRO', 'PROTOBUF') then 'passed over'
            else 'pending'
        end,
        null, null, null, null
    )::metl.registry_version)
    from jsonb_to_recordset(listing) as found (
        "group" text, artifact text, version text, type text, position bigint,
        global_id bigint, content_id bigint, confluent_id bigint,
        state text, created_on timestamptz, modified_on timestamptz
    )
$$;
comment on function metl._read_listing(text, jsonb) is
'What a registry was seen to have as rows, with the schema that each is of and whether there is anything to do.';
-- sql/private/require_entry.sql
create or replace function metl._require_entry(entry bigint) returns metl.registry_version
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found metl.registry_version;
begin
    select known.* into _found from metl.registry_version as known where known.entry = _require_entry.entry;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format('No version of a registry was noted as entry %s.', coalesce(entry::text, 'null')),
            hint = 'metl.registry_versions lists what was noted.';
    end if;
    return _found;
end $$;
comment on function metl._require_entry(bigint) is
'A version of a registry; an error if none was noted under that number.';
-- sql/private/registry_number.sql
create or replace function metl._registry_number(found metl.registry_version) returns int
language sql stable
as $$
    with wanted as (
        select case when found.registry_version ~ '^[1-9][0-9]{0,8}$' then found.registry_version::int end as number
    ),
    used as (
        select v.version, v.deleted is not null as is_over
        from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
        where s.name = found.schema
        union all
        select known.version, true from metl.registry_version as known
        where known.schema = found.schema and known.entry <> found.entry
        union all
        select plan.version, true from metl.waiting_plan as plan
        where plan.kind = 'schema_version' and plan.name = found.schema and plan.decision is null
    ),
    -- Numbers ascend as the versions of the artifact do.
    around as (
        select
            max(known.version) filter (where known.position < found.position) as below,
            min(known.version) filter (where known.position > found.position) as above
        from metl.registry_version as known
        where
            known.schema = found.schema
            and known.registry = found.registry
            and known.registry_group = found.registry_group
            and known.artifact = found.artifact
            and known.gone_at is null
    )
    select case
        when
            wanted.number > coalesce(around.below, 0)
            and wanted.number < coalesce(around.above, wanted.number + 1)
            -- One that somebody registered by hand may be this very version.
            and not exists (select from used where used.version = wanted.number and used.is_over)
            then wanted.number
        else 1 + coalesce((select max(used.version) from used), 0)
    end
    from wanted cross join around
$$;
comment on function metl._registry_number(metl.registry_version) is
'Which version of its schema a version of a registry is to be: its own number where that is free and in order, '
'else the next one.';
-- sql/private/settle_renames.sql
create or replace function metl._settle_renames(schema text, version int, attributes jsonb) returns jsonb
language sql stable
as $$
    with before as (
        select known.name
        from metl.schema as s
        cross join lateral unnest(
            metl._schema_attributes(s.schema_id, metl._live_version_before(s.schema_id, _settle_renames.version))
        ) as known
        where s.name = _settle_renames.schema
    ),
    fresh as (
        select each.value, each.nth, each.value ->> 'name' as name
        from jsonb_array_elements(_settle_renames.attributes) with ordinality as each (value, nth)
    )
    select coalesce(jsonb_agg(
        (fresh.value - 'renamed_from') || coalesce((
            select jsonb_build_object('renamed_from', former.name)
            from jsonb_array_elements_text(
                case jsonb_typeof(fresh.value -> 'renamed_from')
                    when 'array' then fresh.value -> 'renamed_from'
                    when 'string' then jsonb_build_array(fresh.value -> 'renamed_from')
                    else '[]'
                end
            ) with ordinality as former (name, nth)
            where
                former.name not in (select other.name from fresh as other)
                -- One that continues under its own name may still carry the alias of long ago.
                and not (
                    former.name in (select before.name from before)
                    and fresh.name in (select before.name from before)
                )
            order by former.name in (select before.name from before) desc, former.nth
            limit 1
        ), '{}')
        order by fresh.nth
    ), '[]')
    from fresh
$$;
comment on function metl._settle_renames(text, int, jsonb) is
'Attributes with at most one renamed_from each: of the former names that a schema carries along, the one that counts.';

create or replace function metl._settle_draft(schema text, version int, attributes jsonb) returns jsonb
language sql stable
as $$
    -- Some carry all their former names along, as registries have them.
    select case
        when exists (
            select
            from jsonb_array_elements(case jsonb_typeof(attributes) when 'array' then attributes else '[]' end) as each
            where jsonb_typeof(each.value -> 'renamed_from') = 'array'
        ) then metl._settle_renames(schema, version, attributes)
        else attributes
    end
$$;
comment on function metl._settle_draft(text, int, jsonb) is
'The same for a draft, whose renamed_from is taken by its word where it is one name.';
-- sql/private/adopt.sql
create or replace function metl._is_same(schema text, version int, attributes jsonb) returns boolean
language sql stable
as $$
    select
        array(
            select (given.name, given.type)::text
            from unnest(metl._read_attributes(format('schema %L version %s', schema, version), attributes)) as given
            order by given.name
        ) = array(
            select (known.name, identity.type)::text
            from metl.schema as s
            inner join metl.attribute_version as known on s.schema_id = known.schema_id
            inner join metl.attribute as identity on known.attribute_id = identity.attribute_id
            where s.name = _is_same.schema and known.version = _is_same.version
            order by known.name
        )
$$;
comment on function metl._is_same(text, int, jsonb) is
'Whether a schema version has just these attributes, of the same generalized types.';

create or replace function metl._add_refs(schema text, version int, refs jsonb) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _known jsonb;
    _all jsonb;
    _state bigint;
begin
    select coalesce(jsonb_object_agg(by_kind.kind, by_kind.refs), '{}') into _known
    from (
        select known.kind, jsonb_agg(known.ref order by known.ref) as refs
        from metl.schema_ref as known
        where known.schema_id = _schema_id and known.version = _add_refs.version and known.until is null
        group by known.kind
    ) as by_kind;
    select coalesce(jsonb_object_agg(by_kind.kind, by_kind.refs), '{}') into _all
    from (
        select each.kind, jsonb_agg(distinct each.ref order by each.ref) as refs
        from (
            select * from metl._given_refs(_known) union all select * from metl._read_refs(schema, version, refs)
        ) as each
        group by each.kind
    ) as by_kind;
    if _all = _known then
        return metl.current_state();
    end if;
    _state := metl._advance('set_refs', metl._summary(schema, version, null, null, '{}'));
    perform metl._store_refs(_state, _schema_id, schema, version, _all);
    return _state;
end $$;
comment on function metl._add_refs(text, int, jsonb) is
'Gives a schema version these refs beside those that it has; a new state if one of them is new.';
-- sql/private/register.sql
create or replace function metl._register(schema text, version int, attributes jsonb, refs jsonb)
returns table (event text, plan_id bigint, state bigint, problem text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _attributes jsonb;
    _before bigint := metl.current_state();
    _hint text;
begin
    _attributes := metl._settle_renames(schema, version, attributes);
    if exists (
        select from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
        where s.name = _register.schema and v.version = _register.version
    ) then
        if metl._is_same(schema, version, _attributes) then
            event := 'adopted';
            state := metl._add_refs(schema, version, refs);
        else
            event := 'conflict';
            problem := format('Version %s of %s was registered by hand with other attributes.', version, schema);
        end if;
    else
        state := metl._add_schema_version(schema, version, _attributes, refs);
        select plan.plan_id into plan_id from metl.waiting_plan as plan
        where
            plan.kind = 'schema_version'
            and plan.name = _register.schema
            and plan.version = _register.version
            and plan.decision is null;
        event := case when plan_id is null then 'registered' else 'waiting' end;
    end if;
    if state = _before then
        state := null;
    end if;
    return next;
exception
    -- What METL itself refuses. Anything else is no fault of the version, and undoes all.
    when invalid_parameter_value or undefined_object or duplicate_object or object_not_in_prerequisite_state
        or name_too_long or unique_violation
    then
        get stacked diagnostics problem = message_text, _hint = pg_exception_hint;
        event := 'unreadable';
        plan_id := null;
        state := null;
        problem := concat_ws(' ', problem, _hint);
        return next;
end $$;
comment on function metl._register(text, int, jsonb, jsonb) is
'Adds a schema version, or adopts one that is there with the same attributes; a refusal is a problem, not an error.';
-- sql/private/registry_events.sql
create or replace function metl._registry_event(event text, found metl.registry_version, state bigint default null)
returns metl.registry_event
language sql stable
as $$
    select (
        event, found.schema, found.version,
        found.registry_group, found.artifact, found.registry_version, found.registry_state,
        _registry_event.state,
        (made.summary ->> 'kept')::int,
        case event when 'waiting' then jsonb_array_length(plan.lost) else (made.summary ->> 'lost')::int end,
        plan.plan_id, found.problem
    )::metl.registry_event
    from (select found.plan_id) as one
    left join metl.state as made on made.state = _registry_event.state
    left join metl.waiting_plan as plan on one.plan_id = plan.plan_id
$$;
comment on function metl._registry_event(text, metl.registry_version, bigint) is
'What is told of a version of a registry; the state, if it made one, says what Auto-Update did.';

create or replace function metl._tell_of_registry(found metl.registry_version) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    -- What was told before about this version is settled, or told anew.
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where
        notice.kind in ('unreadable', 'conflict')
        and notice.schema = found.schema
        and notice.confirmed_at is null
        and case
            when notice.version = found.version
                then found.problem is null or (notice.kind = 'conflict') <> (found.outcome = 'conflict')
            -- Without a number: of an artifact that another one of the same name keeps out.
            when notice.version is null then not exists (
                select from metl.registry_version as known
                where
                    known.schema = found.schema
                    and known.outcome = 'conflict'
                    and known.version is null
                    and known.gone_at is null
            )
        end;
    insert into metl.notice (state, kind, schema, version, lost)
    select
        metl.current_state(), case found.outcome when 'conflict' then 'conflict' else 'unreadable' end,
        found.schema, found.version, '[]'
    where
        found.problem is not null
        and not exists (
            select from metl.notice
            where
                notice.kind in ('unreadable', 'conflict')
                and notice.schema = found.schema
                and notice.version is not distinct from found.version
                and notice.confirmed_at is null
        );
end $$;
comment on function metl._tell_of_registry(metl.registry_version) is
'Leaves a notice of a version of a registry that has a problem, once; settles it when the problem is gone.';
-- sql/functions/note_registry_versions.sql
create or replace function metl.note_registry_versions(
    registry text, registry_group text, listing jsonb, read_until timestamptz, gone bigint[] default '{}'
) returns setof metl.registry_event
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _found metl.registry_version[];
begin
    perform metl._check_name('registry', registry);
    perform metl._lock();
    _found := metl._read_listing(note_registry_versions.registry, listing);
    update metl.registry_version as known set gone_at = clock_timestamp()
    where known.entry = any(gone) and known.registry = note_registry_versions.registry and known.gone_at is null;
    -- What was deleted and made anew is another version under the same name.
    update metl.registry_version as known set gone_at = clock_timestamp()
    from unnest(_found) as found
    where
        known.gone_at is null
        and (known.registry, known.registry_group, known.artifact, known.registry_version)
        = (found.registry, found.registry_group, found.artifact, found.registry_version)
        and (known.global_id, known.confluent_id, known.created_on)
        is distinct from (found.global_id, found.confluent_id, found.created_on);

    return query
    select event.*
    from unnest(_found) as found
    inner join metl.registry_version as known
        on
            known.gone_at is null
            and (known.registry, known.registry_group, known.artifact, known.registry_version)
            = (found.registry, found.registry_group, found.artifact, found.registry_version)
            and known.registry_state is distinct from found.registry_state
            and known.outcome <> 'passed over'
    cross join lateral metl._registry_event(
        'state changed', jsonb_populate_record(known, jsonb_build_object('registry_state', found.registry_state))
    ) as event
    order by known.position;

    insert into metl.registry_version as known (
        registry, registry_group, artifact, registry_version, artifact_type, position, global_id, content_id,
        confluent_id, registry_state, created_on, modified_on, schema, outcome
    )
    select
        found.registry, found.registry_group, found.artifact, found.registry_version, found.artifact_type,
        found.position, found.global_id, found.content_id, found.confluent_id, found.registry_state,
        found.created_on, found.modified_on, found.schema, found.outcome
    from unnest(_found) as found
    order by found.position
    on conflict (registry, registry_group, artifact, registry_version) where gone_at is null do update set
        content_id = excluded.content_id,
        registry_state = excluded.registry_state,
        modified_on = excluded.modified_on,
        -- What could not be read is read again once the registry has changed it.
        outcome = case
            when known.outcome in ('unreadable', 'conflict', 'passed over') then excluded.outcome else known.outcome
        end
    where
        (known.content_id, known.registry_state, known.modified_on)
        is distinct from (excluded.content_id, excluded.registry_state, excluded.modified_on);

    -- What stood in the way of another artifact of the same name may be gone now.
    update metl.registry_version as freed set outcome = 'pending'
    where
        freed.registry = note_registry_versions.registry
        and freed.outcome = 'conflict'
        and freed.gone_at is null
        and exists (
            select from metl.registry_version as other
            where other.schema = freed.schema and other.gone_at is not null and other.outcome <> 'ended'
        );
    insert into metl.registry_reading (registry, registry_group, read_until, read_at)
    select
        note_registry_versions.registry, coalesce(note_registry_versions.registry_group, ''), read_until,
        clock_timestamp()
    where note_registry_versions.read_until is not null
    on conflict on constraint registry_reading_pk do update set
        read_until = excluded.read_until, read_at = excluded.read_at;
end $$;
comment on function metl.note_registry_versions(text, text, jsonb, timestamptz, bigint[]) is
'Writes down what a registry was seen to have, of one group or (null) of all: an array of {"group", "artifact", '
'"version", "type", "position", "global_id", "content_id", "confluent_id", "state", "created_on", "modified_on"}; '
'which entries are gone from it; and up to when it was read. What there is to do then is in metl.registry_work. '
'Returns the states that changed.';
-- sql/functions/take_registry_version.sql
create or replace function metl.take_registry_version(
    entry bigint, attributes jsonb, refs jsonb, problem text default null, is_final boolean default true
) returns setof metl.registry_event
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _found metl.registry_version;
    _rival metl.registry_version;
    _event text;
    _state bigint;
begin
    if (attributes is null) = (problem is null) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Entry %s needs either attributes or a problem.', coalesce(entry::text, 'null')),
            hint = 'Give the attributes and refs of the version, or say why they cannot be read.';
    end if;
    perform metl._lock();
    _found := metl._require_entry(entry);
    if
        _found.outcome <> 'pending'
        or _found.gone_at is not null
        -- Nothing overtakes a version that waits; it is taken once that one is decided.
        or exists (
            select from metl.waiting_plan as plan
            where plan.kind = 'schema_version' and plan.name = _found.schema and plan.decision is null
        )
    then
        return;
    end if;
    -- The same problem again is nothing to tell.
    if problem = _found.problem and not is_final then
        return;
    end if;
    _found.problem := problem;
    select * into _rival from metl.registry_version as other
    where
        other.schema = _found.schema
        and other.outcome = 'taken'
        and other.gone_at is null
        and (other.registry, other.registry_group, other.artifact)
        <> (_found.registry, _found.registry_group, _found.artifact)
    limit 1;
    if found then
        _found.outcome := 'conflict';
        _found.problem := format('Schema %s is that of artifact %s in group %s of %s already, which was first.',
                                 _found.schema, _rival.artifact, _rival.registry_group, _rival.registry);
    else
        _found.version := coalesce(_found.version, metl._registry_number(_found));
        if problem is null then
            select registered.* into _event, _found.plan_id, _state, _found.problem
            from metl._register(_found.schema, _found.version, attributes, refs) as registered;
        end if;
        _found.outcome := case
            when problem is not null and not is_final then 'pending'
            when _event = 'conflict' then 'conflict'
            when _found.problem is not null then 'unreadable'
            else 'taken'
        end;
    end if;
    update metl.registry_version as known
    set version = _found.version, outcome = _found.outcome, plan_id = _found.plan_id, problem = _found.problem
    where known.entry = _found.entry;
    perform metl._tell_of_registry(_found);
    return query select told.* from metl._registry_event(
        case _found.outcome when 'taken' then _event when 'conflict' then 'conflict' else 'unreadable' end, _found, _state
    ) as told;
end $$;
comment on function metl.take_registry_version(bigint, jsonb, jsonb, text, boolean) is
'Makes an entry of metl.registry_work a version of its schema, with these attributes and refs; or, given a problem '
'instead, writes down why that cannot be, for good or until the next try. '
'Returns what became of it, nothing if it is not its turn.';
-- sql/functions/end_registry_version.sql
create or replace function metl.end_registry_version(entry bigint) returns setof metl.registry_event
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _found metl.registry_version;
    _is_live boolean;
    _state bigint;
    _cells metl._cell_fate[];
begin
    perform metl._lock();
    _found := metl._require_entry(entry);
    if _found.gone_at is null or _found.outcome = 'ended' then
        return;
    end if;
    select plan.plan_id into _found.plan_id from metl.waiting_plan as plan
    where plan.plan_id = _found.plan_id and plan.decision is null;
    if found then
        perform metl._decide(_found.plan_id, 'rejected');
    end if;
    _is_live := _found.outcome = 'taken' and exists (
        select from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
        where s.name = _found.schema and v.version = _found.version and v.deleted is null
    );
    if _is_live then
        _cells := array(select cell from metl._column_end(_found.schema, _found.version) as cell);
        _state := metl.delete_schema_version(_found.schema, _found.version);
        -- With the last version of a schema go cells that nothing carries over: somebody should know which.
        insert into metl.notice (state, kind, schema, version, entity, entity_version, lost)
        select _state, 'vanished', block.schema, block.version, block.entity, block.entity_version, block.lost
        from metl._lost_by_block(_cells, array['deleted']) as block
        where not exists (
            select from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
            where s.name = _found.schema and v.deleted is null
        );
    end if;
    _found.problem := null;
    perform metl._tell_of_registry(_found);
    update metl.registry_version as known set outcome = 'ended' where known.entry = _found.entry;
    if _is_live or _found.plan_id is not null then
        return query select told.* from metl._registry_event('deleted', _found, _state) as told;
    end if;
end $$;
comment on function metl.end_registry_version(bigint) is
'Deletes the schema version that an entry of metl.registry_work became, or the plan as which it waits, '
'since it is gone from the registry. The cells of a last version are kept in notices. Returns what was done.';
-- sql/functions/retry_registry_versions.sql
create or replace function metl.retry_registry_versions(schema text) returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _retried int;
begin
    perform metl._lock();
    update metl.registry_version as known
    set
        outcome = 'pending',
        plan_id = null,
        problem = null,
        -- A number that was used is never used again.
        version = case when known.outcome <> 'taken' then known.version end
    from metl.registry_versions as shown
    where
        known.entry = shown.entry
        and shown.schema = retry_registry_versions.schema
        and shown.outcome in ('unreadable', 'conflict', 'rejected', 'deleted');
    get diagnostics _retried = row_count;
    return _retried;
end $$;
comment on function metl.retry_registry_versions(text) is
'Lets versions of a schema be taken from the registry once more: those that could not be read, were rejected, '
'or were deleted here; returns how many.';
-- sql/functions/set_topic.sql
create or replace function metl.set_topic(
    pattern text,
    format text default 'ext_json',
    payload text default 'debezium',
    schema text default null,
    version int default null
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _state bigint;
begin
    perform metl._lock();
    perform metl._check_topic(pattern, format, payload, schema, version);
    if schema is not null then
        _schema_id := metl._require_schema(schema);
        if not exists (
            select from metl.schema_version as v where v.schema_id = _schema_id and v.deleted is null
        ) then
            raise exception using
                errcode = 'undefined_object',
                message = format('Schema %L has no live version any more, so that no topic carries it.', schema),
                hint = 'Add a version with metl.add_schema_version first.';
        end if;
    end if;
    -- Of the schemas that a pattern stands for, each may have the version or not, and more may come.
    if version is not null and pattern not like '%*%' then
        perform metl._require_schema_version(coalesce(schema, pattern), version);
    end if;
    _state := metl._advance(
        'set_topic',
        metl._summary(schema, version, null, null, '{}')
        || jsonb_build_object('pattern', pattern, 'format', format, 'payload', payload)
    );
    update metl.topic_rule set until = _state
    where topic_rule.pattern = set_topic.pattern and topic_rule.until is null;
    insert into metl.topic_rule (pattern, format, payload, schema_id, version, since)
    values (set_topic.pattern, set_topic.format, set_topic.payload, _schema_id, set_topic.version, _state);
    return _state;
end $$;
comment on function metl.set_topic(text, text, text, text, int) is
'Says how messages are read, of one topic or of all that match a pattern such as shop.*, instead of what was said '
'before. Format says what names their version: ext_json (schemaId is the globalId), ext_json_content_id (it is the '
'contentId), apicurio, apicurio_2, confluent, connect (the fingerprint of their own schema), plain (nothing does: it '
'is the given version or else the newest). Payload is debezium (before and after) or flat (the row itself). '
'A topic carries the schema of its own name or the one given. Returns the new state.';
-- sql/functions/unset_topic.sql
create or replace function metl.unset_topic(pattern text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _state bigint;
begin
    perform metl._lock();
    if not exists (
        select from metl.topic_rule where topic_rule.pattern = unset_topic.pattern and topic_rule.until is null
    ) then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no rule for %s.', coalesce('topic ' || quote_literal(pattern), 'null')),
            hint = 'metl.topic_rules lists the rules there are.';
    end if;
    _state := metl._advance(
        'unset_topic', metl._summary(null, null, null, null, '{}') || jsonb_build_object('pattern', pattern)
    );
    update metl.topic_rule set until = _state
    where topic_rule.pattern = unset_topic.pattern and topic_rule.until is null;
    return _state;
end $$;
comment on function metl.unset_topic(text) is
'Takes back what metl.set_topic said for a topic or a pattern; returns the new state.';
-- sql/views/topics.sql
create or replace view metl.topic_rules as
select
    topic_rule.pattern,
    topic_rule.format,
    topic_rule.payload,
    schema.name as schema,
    topic_rule.version,
    topic_rule.since
from metl.topic_rule
left join metl.schema on topic_rule.schema_id = schema.schema_id
where topic_rule.until is null;
comment on view metl.topic_rules is
'How messages are read, as it was set. Of several rules that match, the one of that very topic wins, else the longest.';

create or replace view metl.topics as
with rule as materialized (
    select
        topic_rule.*,
        -- Of the characters that topics may have, only _ means something else to "like".
        replace(replace(topic_rule.pattern, '_', '\_'), '*', '%') as likeness
    from metl.topic_rule
    where topic_rule.until is null
),

topic as (
    select schema.name as topic, schema.schema_id
    from metl.schema
    where
        -- The length apart: counting while matching would take most of the time.
        schema.name ~ '^[A-Za-z0-9._-]+$'
        and length(schema.name) <= 249
        and schema.name not in ('.', '..')
        and schema.name not in (select rule.pattern from rule where rule.schema_id is not null)
    union all
    select rule.pattern, rule.schema_id from rule where rule.schema_id is not null
),

live as (
    select schema_version.schema_id, max(schema_version.version) as newest
    from metl.schema_version
    where schema_version.deleted is null
    group by schema_version.schema_id
)

select
    topic.topic,
    schema.name as schema,
    coalesce(best.format, 'ext_json') as format,
    coalesce(best.payload, 'debezium') as payload,
    case when best.format = 'plain' then case when best.version is null then live.newest else chosen.version end end
        as version
from topic
inner join live on topic.schema_id = live.schema_id
inner join metl.schema on topic.schema_id = schema.schema_id
left join lateral (
    select rule.format, rule.payload, rule.version
    from rule
    where topic.topic like rule.likeness
    order by rule.pattern = topic.topic desc, length(rule.pattern) desc, rule.pattern collate "C"
    limit 1
) as best on true
left join metl.schema_version as chosen
    on topic.schema_id = chosen.schema_id and best.version = chosen.version and chosen.deleted is null;
comment on view metl.topics is
'Every topic whose messages can be mapped and how it is read; without a rule, as ext_json with debezium envelopes.';
-- sql/views/held.sql
create or replace view metl._held as
select (held.classid::bigint << 32) | held.objid::bigint as key, held.pid
from pg_catalog.pg_locks as held
inner join pg_catalog.pg_database as here on held.database = here.oid
where
    held.locktype = 'advisory'
    -- Those with one key of 64 bits, which is shown in two halves.
    and held.objsubid = 1
    and held.granted
    and here.datname = current_database();
comment on view metl._held is 'The advisory locks of this database, by which a job runs once, and who has them.';
-- sql/private/require_job.sql
create or replace function metl._require_job(job text) returns metl.job
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found metl.job;
begin
    select known.* into _found from metl.job as known where known.job = _require_job.job;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no job %s.', coalesce(quote_literal(left(job, 60)), 'null')),
            hint = 'metl.jobs (`metl jobs`) lists the jobs that were ever started.';
    end if;
    return _found;
end $$;
comment on function metl._require_job(text) is 'A job; an error if there is none of that name.';

create or replace function metl._require_instance(job text, instance uuid) returns metl.job
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found metl.job := metl._require_job(job);
begin
    if _found.instance is distinct from instance then
        raise exception using
            errcode = 'object_in_use',
            message = format('Instance %s of job %L was superseded.', coalesce(instance::text, 'null'), job),
            detail = format('Instance %s took over at %s.', _found.instance, _found.started_at),
            hint = 'Stop here: the other instance goes on.';
    end if;
    return _found;
end $$;
comment on function metl._require_instance(text, uuid) is
'A job; an error if another instance of it has taken over.';
-- sql/private/hold.sql
create or replace function metl._hold(keys bigint[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _key bigint;
    _taken bigint[] := '{}';
begin
    foreach _key in array keys loop
        -- A lock taken twice would have to be given back twice.
        continue when exists (
            select from metl._held as held where held.key = _key and held.pid = pg_backend_pid()
        );
        if not pg_try_advisory_lock(_key) then
            perform metl._let_go(_taken);
            return null;
        end if;
        _taken := _taken || _key;
    end loop;
    return _taken;
end $$;
comment on function metl._hold(bigint[]) is
'Takes advisory locks until the session ends, all or none; returns those that are new to it, null if others have one.';

create or replace function metl._let_go(keys bigint[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    select pg_advisory_unlock(held.key) from metl._held as held
    where held.key = any(_let_go.keys) and held.pid = pg_backend_pid()
$$;
comment on function metl._let_go(bigint[]) is
'Gives advisory locks back at once; those of a session outlast a transaction that fails.';
-- sql/private/refuse_to_start.sql
create or replace function metl._refuse_to_start(job text, checkpoint text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _other record;
begin
    select other.job, other.checkpoint, other.instance, other.started_at, session.pid, session.usename into _other
    from metl.job as other
    inner join metl._held as held on hashtextextended('metl job ' || other.job, 0) = held.key
    left join pg_stat_activity as session on held.pid = session.pid
    where
        (other.job = _refuse_to_start.job or other.checkpoint = _refuse_to_start.checkpoint)
        and not (other.job = _refuse_to_start.job and held.pid = pg_backend_pid())
    order by other.job = _refuse_to_start.job desc
    limit 1;
    -- One that is just starting has left no row yet.
    raise exception using
        errcode = 'object_in_use',
        message = format(
            'Job %L is already running on checkpoint %L.', coalesce(_other.job, job), coalesce(_other.checkpoint, checkpoint)
        ),
        detail = case
            when _other.job is null then 'Another session is just starting it.'
            else format(
                'Session %s of %s has it, with instance %s since %s.',
                _other.pid, _other.usename, _other.instance, _other.started_at
            )
        end,
        hint = format(
            'Stop it with metl.stop_job(%L), or take another name and another checkpoint.', coalesce(_other.job, job)
        );
end $$;
comment on function metl._refuse_to_start(text, text) is 'Says who has the job or the checkpoint that somebody wants.';
-- sql/private/add_counts.sql
create or replace function metl._add_counts(counts jsonb, more jsonb) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_object_agg(total.key, total.count), '{}')
    from (
        select both_of.key, sum(both_of.value::bigint) as count
        from (select * from jsonb_each_text(counts) union all select * from jsonb_each_text(more)) as both_of
        group by both_of.key
    ) as total
$$;
comment on function metl._add_counts(jsonb, jsonb) is 'Two objects of counts, added up key by key.';
-- sql/functions/start_job.sql
-- The locks are those of the session: they end with it, however it ends, and nobody has to clean up.
create or replace function metl.start_job(
    job text, checkpoint text, instance uuid, about jsonb default '{}'
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _taken bigint[];
    _known metl.job;
begin
    perform metl._check_name('job', job), metl._check_name('checkpoint', checkpoint);
    if instance is null or jsonb_typeof(about) is distinct from 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'Job %L cannot start as instance %s with %s.',
                job, coalesce(instance::text, 'null'), coalesce(left(about::text, 60), 'null')
            ),
            hint = 'Give a UUID made for this run, and an object that tells people about it.';
    end if;
    _taken := metl._hold(array[
        hashtextextended('metl job ' || job, 0), hashtextextended('metl checkpoint ' || checkpoint, 0)
    ]);
    -- A session that holds the checkpoint for another job of its own would get it again.
    if _taken is null or exists (
        select from metl.job as other
        inner join metl._held as held on hashtextextended('metl job ' || other.job, 0) = held.key
        where other.checkpoint = start_job.checkpoint and other.job <> start_job.job
    ) then
        perform metl._let_go(_taken);
        perform metl._refuse_to_start(job, checkpoint);
    end if;
    select known.* into _known from metl.job as known where known.job = start_job.job for no key update;
    if _known.instance <> instance and exists (
        select from metl.job_instance as earlier
        where earlier.job = start_job.job and earlier.instance = start_job.instance
    ) then
        perform metl._let_go(_taken);
        perform metl._require_instance(job, instance);
    end if;
    if _known.checkpoint <> checkpoint then
        perform metl._let_go(array[hashtextextended('metl checkpoint ' || _known.checkpoint, 0)]);
    end if;
    -- An instance that comes again, after its connection broke, still has to stop if it was told to.
    insert into metl.job (job, checkpoint, instance, about)
    values (start_job.job, start_job.checkpoint, start_job.instance, start_job.about)
    on conflict on constraint job_pk do update set
        checkpoint = excluded.checkpoint,
        instance = excluded.instance,
        about = excluded.about,
        started_at = case when job.instance = excluded.instance then job.started_at else excluded.started_at end,
        stop_requested = job.stop_requested and job.instance = excluded.instance,
        status = case when job.stop_requested and job.instance = excluded.instance then 'stopping' else 'starting' end,
        status_at = excluded.status_at,
        reason = null;
    insert into metl.job_instance (job, instance) values (start_job.job, start_job.instance)
    on conflict on constraint job_instance_pk do nothing;
end $$;
comment on function metl.start_job(text, text, uuid, jsonb) is
'Lets this session run a job on a checkpoint, both its own until it ends; an error if another session has one of them. '
'The instance is a UUID for this run; after a broken connection it comes again with the same one. '
'What "about" says is there for everybody to read: no secrets.';
-- sql/functions/begin_batch.sql
create or replace function metl.begin_batch(job text, instance uuid) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.job := metl._require_instance(job, instance);
begin
    if _known.stop_requested then
        raise exception using
            errcode = 'MT001',
            message = format('Job %L was told to stop.', job),
            hint = 'End it, and report it as stopped with metl.report_job.';
    end if;
    return true;
end $$;
comment on function metl.begin_batch(text, uuid) is
'True while an instance of a job may go on; to be called in the query that reads the matrix, so that both are of one '
'moment. Otherwise an error: MT001 if the job was told to stop, object_in_use if another instance has taken over.';
-- sql/functions/report_job.sql
create or replace function metl.report_job(
    job text, instance uuid, status text, reason text default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if status is null or status not in (
        'starting', 'running', 'retrying', 'stopping', 'stopped', 'halted', 'failed'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a status of a job.', coalesce(quote_literal(left(status, 60)), 'null')),
            hint = 'Take starting, running, retrying, stopping, stopped, halted or failed.';
    end if;
    update metl.job set
        -- What still goes on after it was told to stop is stopping.
        status = case
            when job.stop_requested and report_job.status in ('starting', 'running', 'retrying') then 'stopping'
            else report_job.status
        end,
        status_at = clock_timestamp(),
        reason = report_job.reason
    where job.job = report_job.job and job.instance = report_job.instance;
    if not found then
        perform metl._require_instance(job, instance);
    end if;
end $$;
comment on function metl.report_job(text, uuid, text, text) is
'Says how a job is: starting, running, retrying, stopping, stopped, halted or failed, and why; '
'an error if another instance has taken over.';
-- sql/functions/record_batch.sql
create or replace function metl.record_batch(job text, instance uuid, batch bigint, progress jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _read metl.job_batch := metl._read_progress(job, batch, progress);
begin
    if not exists (
        select from metl.job_instance as known
        where known.job = record_batch.job and known.instance = record_batch.instance
    ) then
        perform metl._require_job(job);
        raise exception using
            errcode = 'undefined_object',
            message = format('Job %L has no instance %s.', job, coalesce(instance::text, 'null')),
            hint = 'Start it with metl.start_job first.';
    end if;
    _read.job := job;
    _read.instance := instance;
    _read.batch := batch;
    insert into metl.job_batch select _read.* on conflict on constraint job_batch_pk do nothing;
    if found then
        update metl.job_instance as total set
            rows_in = total.rows_in + _read.rows_in,
            rows_out = total.rows_out + _read.rows_out,
            rows_filtered = total.rows_filtered + _read.rows_filtered,
            dead = metl._add_counts(total.dead, _read.dead)
        where total.job = record_batch.job and total.instance = record_batch.instance;
    end if;
end $$;
comment on function metl.record_batch(text, uuid, bigint, jsonb) is
'Records what a batch did, also of an instance that was superseded meanwhile; the same batch again changes nothing.';
-- sql/functions/stop_job.sql
create or replace function metl.stop_job(job text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _at_work constant text[] := array['starting', 'running', 'retrying'];
begin
    update metl.job set
        stop_requested = true,
        status = case when job.status = any(_at_work) then 'stopping' else job.status end,
        status_at = case when job.status = any(_at_work) then clock_timestamp() else job.status_at end
    where job.job = stop_job.job;
    if not found then
        perform metl._require_job(job);
    end if;
end $$;
comment on function metl.stop_job(text) is
'Tells a job to stop before its next batch. It does not wait for it.';
-- sql/views/jobs.sql
create or replace view metl.job_batches as
select
    job, instance, batch, state, began_at, ended_at, rows_in, rows_out, rows_filtered,
    dead, latency_ms, matrix_rows, matrix_bytes, lag, positions, behind_ms
from metl.job_batch;
comment on view metl.job_batches is 'What each batch of each job did.';

create or replace view metl.jobs as
select
    job.job,
    job.status,
    job.reason,
    hashtextextended('metl job ' || job.job, 0) in (select held.key from metl._held as held) as running,
    job.started_at,
    job.status_at,
    latest.batch as last_batch,
    latest.ended_at as last_batch_at,
    latest.state,
    clock.state - latest.state as states_behind,
    total.rows_in,
    total.rows_out,
    total.rows_filtered,
    (select coalesce(sum(dead.value::bigint), 0)::bigint from jsonb_each_text(total.dead) as dead) as dead,
    total.dead as dead_by_reason,
    case
        when latest.ended_at > latest.began_at
            then round(latest.rows_in / extract(epoch from latest.ended_at - latest.began_at), 1)
    end as rows_per_second,
    measured.latency_ms,
    latest.lag,
    latest.matrix_rows,
    latest.matrix_bytes,
    job.about,
    job.checkpoint,
    job.instance,
    case when latest.lag > 0 then latest.behind_ms end as behind_ms,
    ever.rows_in as rows_in_ever,
    ever.rows_out as rows_out_ever,
    ever.rows_filtered as rows_filtered_ever,
    ever.dead as dead_ever
from metl.job
inner join metl.job_instance as total on job.job = total.job and job.instance = total.instance
cross join metl.clock
cross join lateral (
    select
        sum(each.rows_in)::bigint as rows_in,
        sum(each.rows_out)::bigint as rows_out,
        sum(each.rows_filtered)::bigint as rows_filtered,
        sum((select coalesce(sum(dead.value::bigint), 0) from jsonb_each_text(each.dead) as dead))::bigint as dead
    from metl.job_instance as each
    where each.job = job.job
) as ever
left join lateral (
    select * from metl.job_batch as batch
    where batch.job = job.job
    order by batch.ended_at desc, batch.batch desc
    limit 1
) as latest on true
left join lateral (
    select batch.latency_ms from metl.job_batch as batch
    where batch.job = job.job and batch.instance = job.instance and batch.latency_ms is not null
    order by batch.ended_at desc, batch.batch desc
    limit 1
) as measured on true;
comment on view metl.jobs is
'Every job that was ever started: whether it runs, how far it has come, what its current instance did and all did.';
-- sql/functions/report_connectors.sql
create or replace function metl.report_connectors(connect_url text, connectors jsonb) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    delete from metl.connector
    where
        connector.connect_url = report_connectors.connect_url
        and not exists (
            select from jsonb_array_elements(connectors) as seen (connector)
            where seen.connector ->> 'connector' = connector.connector
        );
    insert into metl.connector as known (
        connect_url, connector, prefix, status, problem, way_out, tasks, tables,
        slot, behind_bytes, wal_bytes, last_event_at
    )
    select
        report_connectors.connect_url, seen.connector, seen.prefix, seen.status, seen.problem, seen.way_out,
        coalesce(seen.tasks, '[]'), coalesce(seen.tables, '{}'), seen.slot, seen.behind_bytes, seen.wal_bytes, seen.last_event_at
    from jsonb_to_recordset(connectors) as seen (
        connector text, prefix text, status text, problem text, way_out text, tasks jsonb, tables text[],
        slot text, behind_bytes bigint, wal_bytes bigint, last_event_at timestamptz
    )
    on conflict on constraint connector_pk do update set
        prefix = excluded.prefix,
        status = excluded.status,
        problem = excluded.problem,
        way_out = excluded.way_out,
        tasks = excluded.tasks,
        tables = excluded.tables,
        slot = excluded.slot,
        behind_bytes = excluded.behind_bytes,
        wal_bytes = excluded.wal_bytes,
        -- Who looks may not reach Kafka.
        last_event_at = coalesce(excluded.last_event_at, known.last_event_at),
        reported_at = clock_timestamp();
$$;
comment on function metl.report_connectors(text, jsonb) is
'Says how the connectors of one Kafka Connect are, as an array of objects with the columns of metl.connectors; those '
'that are not in it are gone.';
-- sql/views/connectors.sql
create or replace view metl.connectors as
select
    connector, status, problem, way_out, prefix, tables, tasks, slot, behind_bytes, wal_bytes, last_event_at,
    reported_at, connect_url
from metl.connector;
comment on view metl.connectors is
'Every connector of change data capture: how it was when `metl status` or `metl sync --watch` looked last.';
-- sql/functions/begin_operation.sql
create or replace function metl.begin_operation(kind text, why text, about jsonb default '{}') returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _operation bigint;
begin
    if why is null or why !~ '\S' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Nobody said why this %s is done.', coalesce(kind, 'operation')),
            hint = 'Give the reason, for those who will wonder.';
    end if;
    insert into metl.operation (kind, why, about) values (kind, why, about)
    returning operation.operation into _operation;
    return _operation;
end $$;
comment on function metl.begin_operation(text, text, jsonb) is
'Records that somebody begins to replay, give_up, reset, snapshot, reprocess, initial_load or load something, or a '
'capture_remove or capture_restart, and why; returns its number.';
-- sql/functions/end_operation.sql
create or replace function metl.end_operation(operation bigint, outcome jsonb default '{}') returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    update metl.operation set ended_at = clock_timestamp(), outcome = end_operation.outcome
    where operation.operation = end_operation.operation and operation.who = session_user and operation.ended_at is null;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format(
                'There is no operation %s that %s began and did not end.',
                coalesce(end_operation.operation::text, 'null'), session_user
            ),
            hint = 'metl.operations lists what was begun.';
    end if;
end $$;
comment on function metl.end_operation(bigint, jsonb) is 'Records what came of an operation that the caller began.';
-- sql/private/read_letters.sql
create or replace function metl._header_number(said text) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when said ~ '^[0-9]{1,18}$' then said::bigint end
$$;
comment on function metl._header_number(text) is 'What a header says, if it is a number: anybody can write headers.';

create or replace function metl._header_int(said text) returns int
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when said ~ '^[0-9]{1,9}$' then said::int end
$$;
comment on function metl._header_int(text) is 'What a header says, if it is a number that an int can hold.';

create or replace function metl._read_letters(dead_topic text, letters jsonb)
returns table (
    number bigint, topic text, partition int, message_offset bigint, content bytea, reason text, schema text,
    version text, ref text, state bigint, job text, message_at timestamptz, at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select
        given.number,
        -- What says nothing of where it came from came from here.
        coalesce(given.said ->> '__connect.errors.topic', _read_letters.dead_topic),
        coalesce(metl._header_int(given.said ->> '__connect.errors.partition'), given.partition),
        coalesce(metl._header_number(given.said ->> '__connect.errors.offset'), given."offset"),
        sha256(
            convert_to(
                coalesce(octet_length(decode(given.key, 'base64'))::text, '-')
                || case when given.value is null then ' -' else ' ' end,
                'UTF8'
            )
            || coalesce(decode(given.key, 'base64'), '') || coalesce(decode(given.value, 'base64'), '')
        ),
        coalesce(given.said ->> '__metl.reason', given.said ->> '__connect.errors.exception.class.name', 'unknown'),
        given.said ->> '__metl.schema',
        given.said ->> '__metl.version',
        given.said ->> '__metl.ref',
        metl._header_number(given.said ->> '__metl.state'),
        given.said ->> '__connect.errors.connector.name',
        -- No calendar goes further.
        case
            when metl._header_number(given.said ->> '__metl.timestamp') < 9000000000000000
                then to_timestamp(metl._header_number(given.said ->> '__metl.timestamp') / 1000.0)
        end,
        given.at,
        coalesce(metl._header_int(given.said ->> '__metl.replay.count'), 0),
        decode(given.key, 'base64'),
        decode(given.value, 'base64'),
        coalesce(given.headers, '[]')
    from rows from (
        jsonb_to_recordset(letters) as (
            partition int, "offset" bigint, at timestamptz, key text, value text, headers jsonb, said jsonb
        )
    ) with ordinality as given (partition, "offset", at, key, value, headers, said, number)
$$;
comment on function metl._read_letters(text, jsonb) is
'Dead letters as they were collected, with what their headers say.';
-- sql/functions/collect_letters.sql
create or replace function metl.collect_letters(
    topic text, letters jsonb, positions jsonb
) returns table (came bigint, is_new bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    insert into metl.dead_position as known (topic, partition, next_offset)
    select collect_letters.topic, position.key::int, position.value::bigint
    from jsonb_each_text(collect_letters.positions) as position
    on conflict on constraint dead_position_pk do update set
        next_offset = excluded.next_offset, at = excluded.at;
    return query
    with given as (
        select letter.*, count(*) over same_message as times, row_number() over same_message as place
        from metl._read_letters(collect_letters.topic, letters) as letter
        window same_message as (
            partition by letter.topic, letter.partition, letter.message_offset, letter.content
            order by letter.number desc
            rows between unbounded preceding and unbounded following
        )
    ), stored as (
        insert into metl.dead_letter as known (
            topic, partition, message_offset, content, reason, schema, version, ref, state, job,
            message_at, first_at, last_at, times, replays, key, value, headers
        )
        select
            given.topic, given.partition, given.message_offset, given.content, given.reason, given.schema,
            given.version, given.ref, given.state, given.job, given.message_at, given.at, given.at, given.times,
            given.replays, given.key, given.value, given.headers
        from given
        where given.place = 1
        order by given.number
        on conflict on constraint dead_letter_is_one_message do update set
            reason = excluded.reason,
            schema = excluded.schema,
            version = excluded.version,
            ref = excluded.ref,
            state = excluded.state,
            job = excluded.job,
            last_at = excluded.last_at,
            times = known.times + excluded.times,
            replays = greatest(known.replays, excluded.replays),
            -- What a mapper sent twice after a crash is no answer to what was sent again since.
            status = case
                when
                    known.status = 'sent'
                    and (excluded.replays >= known.replays or excluded.last_at > known.sent_at)
                    then 'dead'
                else known.status
            end
        -- Zero in a row that was only inserted.
        returning known.xmax = 0 as is_first
    )
    select
        jsonb_array_length(collect_letters.letters)::bigint,
        count(*) filter (where stored.is_first)
    from stored;
end $$;
comment on function metl.collect_letters(text, jsonb, jsonb) is
'Stores dead letters of a topic and how far it is read, in one transaction: letters as an array of {partition, offset, '
'at, key, value, headers, said}, payloads in base64, said being what METL and Connect wrote of it; positions as '
'{"partition": next offset}. A message that comes back is the same letter, with its newest reason. '
'Returns how many came and how many were new.';
-- sql/private/send.sql
create or replace function metl._send(letters bigint[], operation bigint, most int)
returns table (
    letter bigint, topic text, partition int, message_offset bigint, message_at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql
set search_path = pg_catalog, pg_temp
as $$
    update metl.dead_letter as known set
        status = 'sent',
        sent_at = clock_timestamp(),
        replays = known.replays + 1,
        operation = _send.operation
    where
        known.letter = any(_send.letters)
        -- Without its headers, the payload was purged.
        and known.headers is not null
        and (known.replays < _send.most or _send.most is null)
    returning
        known.letter, known.topic, known.partition, known.message_offset, known.message_at, known.replays,
        known.key, known.value, known.headers
$$;
comment on function metl._send(bigint[], bigint, int) is
'Marks letters as sent and returns what is to be sent; to be committed when Kafka has it.';
-- sql/functions/send_letters.sql
create or replace function metl.send_letters(letters bigint[], operation bigint, most int default 5)
returns table (
    letter bigint, topic text, partition int, message_offset bigint, message_at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select * from metl._send(send_letters.letters, send_letters.operation, send_letters.most)
$$;
comment on function metl.send_letters(bigint[], bigint, int) is
'Marks dead letters as sent again by an operation and returns what is to be sent, payload and all; left out is what '
'was sent "most" times already (null: no limit) or has no payload any more. Commit when Kafka has them.';
-- sql/views/due_letters.sql
create or replace view metl._due as
with topic as materialized (
    select
        topics.topic,
        topics.schema,
        topics.version,
        schema.schema_id,
        (
            select coalesce(max(greatest(rule.since, rule.until)), 0)
            from metl.topic_rule as rule
            where topics.topic like replace(replace(rule.pattern, '_', '\_'), '*', '%')
        ) as read_so_since,
        (
            select min(live.added) from metl.schema_version as live
            where live.schema_id = schema.schema_id and live.deleted is null
        ) as there_since
    from metl.topics
    inner join metl.schema on topics.schema = schema.name
)

select
    dead_letter.letter,
    dead_letter.topic,
    dead_letter.ref,
    dead_letter.replays,
    known.needed
from metl.dead_letter
inner join topic on dead_letter.topic = topic.topic
cross join lateral (
    select min(way.needed) as needed
    from (
        select schema_ref.since as needed
        from metl.schema_ref
        where
            schema_ref.schema_id = topic.schema_id
            and schema_ref.until is null
            and schema_ref.kind || ' ' || schema_ref.ref = dead_letter.ref
        union all
        -- Nothing was known of the topic, so nobody could tell what its messages name.
        select greatest(topic.there_since, topic.read_so_since) where dead_letter.schema is null
        union all
        select topic.read_so_since
        union all
        select greatest(version.added, topic.read_so_since)
        from metl.schema_version as version
        where version.schema_id = topic.schema_id and version.version = topic.version
    ) as way
    -- What was known already when the letter died does not help it.
    where way.needed > dead_letter.state
) as known
where dead_letter.status = 'dead' and dead_letter.reason = 'unknown_version' and known.needed is not null;
comment on view metl._due is 'Letters of an unknown version that a newer state may know, and which state that is.';

create or replace view metl.due_letters as
select due.topic, due.ref, due.needed as known_since, count(*) as letters
from metl._due as due
group by due.topic, due.ref, due.needed;
comment on view metl.due_letters is
'Dead letters of unknown versions that have become known since: they can be sent again once mappers use that state.';
-- sql/functions/send_due_letters.sql
create or replace function metl.send_due_letters(
    of_topic text, state bigint, operation bigint, most int default 5, batch int default 500
)
returns table (
    letter bigint, topic text, partition int, message_offset bigint, message_at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select * from metl._send(
        array(
            select due.letter from metl._due as due
            where
                due.topic = send_due_letters.of_topic
                and due.needed <= send_due_letters.state
                and due.replays < send_due_letters.most
            order by due.letter
            limit send_due_letters.batch
        ),
        operation, most
    )
$$;
comment on function metl.send_due_letters(text, bigint, bigint, int, int) is
'As metl.send_letters, but of the letters of a topic in metl.due_letters that are known in a state, so many at once: '
'jobs send them by themselves.';
-- sql/functions/give_up_letters.sql
create or replace function metl.give_up_letters(letters bigint[], why text, purge boolean default false) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _operation bigint := metl.begin_operation('give_up', why, jsonb_build_object('purge', purge));
    _count bigint;
begin
    update metl.dead_letter set
        status = 'given_up',
        operation = _operation,
        key = case when not purge then key end,
        value = case when not purge then value end,
        headers = case when not purge then headers end
    where dead_letter.letter = any(letters);
    get diagnostics _count = row_count;
    perform metl.end_operation(_operation, jsonb_build_object('letters', _count));
    return _count;
end $$;
comment on function metl.give_up_letters(bigint[], text, boolean) is
'Says that these dead letters are not worth another try, and why; with purge, their payload goes, but never their row. '
'Returns how many there were.';
-- sql/functions/letter_payload.sql
create or replace function metl.letter_payload(letter bigint)
returns table (key bytea, value bytea, headers jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select known.key, known.value, known.headers from metl.dead_letter as known
    where known.letter = letter_payload.letter
$$;
comment on function metl.letter_payload(bigint) is
'What a dead letter says: key, value and headers as [name, value in base64], byte for byte. It is business data.';
-- sql/views/dead_letters.sql
create or replace view metl.dead_letters as
select
    letter, topic, partition, message_offset, reason, schema, version, ref, state, job, message_at, first_at, last_at,
    times, replays, status, sent_at,
    octet_length(key) as key_bytes,
    octet_length(value) as value_bytes,
    headers is null as is_purged,
    operation
from metl.dead_letter;
comment on view metl.dead_letters is
'Every message that could not be mapped: where it is from and why, without what it says (metl.letter_payload).';

create or replace view metl.dead_letter_counts as
select topic, reason, schema, ref, status, count(*) as letters, min(first_at) as first_at, max(last_at) as last_at
from metl.dead_letter
group by topic, reason, schema, ref, status;
comment on view metl.dead_letter_counts is 'How many dead letters there are, by topic, reason, ref and status.';

create or replace view metl.dead_positions as
select topic, partition, next_offset, at from metl.dead_position;
comment on view metl.dead_positions is 'How far the topics of dead letters are collected.';

create or replace view metl.operations as
select operation, kind, who, why, about, began_at, ended_at, outcome from metl.operation;
comment on view metl.operations is
'What was sent again, given up, reset, snapshot, reprocessed or loaded: by whom, when, why, and what came of it.';
-- sql/views/waiting_versions.sql
create or replace view metl.waiting_versions as
with plan as (
    select plan_id, name, version, refs, decision
    from metl.waiting_plan
    where kind = 'schema_version' and (decision is null or decision = 'rejected')
),

waiting as (
    select
        plan.plan_id, plan.name as schema, plan.version, false as is_behind,
        rejected.registry, rejected.registry_group, rejected.artifact, rejected.registry_version, rejected.entry,
        array(
            select by_kind.key || ' ' || ref.value
            from jsonb_each(plan.refs) as by_kind
            cross join lateral jsonb_array_elements_text(
                case jsonb_typeof(by_kind.value)
                    when 'array' then by_kind.value else jsonb_build_array(by_kind.value)
                end
            ) as ref
        ) as refs,
        plan.decision is not null as is_rejected
    from plan
    -- Until it is taken up again: then its entry has another plan, or none.
    left join metl.registry_version as rejected
        on
            plan.decision is not null
            and plan.plan_id = rejected.plan_id
            and rejected.outcome = 'taken'
            and rejected.gone_at is null
    where plan.decision is null or rejected.entry is not null
    union all
    select
        ahead.plan_id, found.schema, found.version, true,
        found.registry, found.registry_group, found.artifact, found.registry_version, found.entry,
        array[
            'global_id ' || found.global_id, 'content_id ' || found.content_id, 'confluent_id ' || found.confluent_id
        ],
        false
    from metl.registry_version as found
    cross join lateral (
        select min(plan.plan_id) as plan_id
        from plan where plan.name = found.schema and plan.decision is null
    ) as ahead
    where found.outcome = 'pending' and found.gone_at is null and ahead.plan_id is not null
)

select
    waiting.plan_id,
    waiting.schema,
    waiting.version,
    waiting.is_behind,
    waiting.registry,
    waiting.registry_group,
    waiting.artifact,
    waiting.registry_version,
    waiting.entry,
    (
        select count(*) from metl.dead_letter
        where
            dead_letter.status = 'dead'
            and dead_letter.reason = 'unknown_version'
            and dead_letter.topic in (select topics.topic from metl.topics where topics.schema = waiting.schema)
            and dead_letter.ref = any(waiting.refs)
    ) as letters,
    waiting.is_rejected
from waiting;
comment on view metl.waiting_versions is
'Every schema version that waits, as a plan or in a registry behind one, or was rejected, with its dead letters.';
-- sql/views/states.sql
create or replace view metl.states as
select state, cause, who, at, summary
from metl.state;
comment on view metl.states is 'Every state: what caused it, by whom, when, and what it did.';
-- sql/views/schema_changes.sql
create or replace view metl.schema_changes as
select schema.name as schema, change.state
from (
    select block.schema_id, block.since as state from metl.block
    union all
    select block.schema_id, block.until from metl.block where block.until is not null
    union all
    select schema_version.schema_id, schema_version.added from metl.schema_version
    union all
    select schema_version.schema_id, schema_version.deleted from metl.schema_version
    where schema_version.deleted is not null
    union all
    select schema_ref.schema_id, schema_ref.since from metl.schema_ref
    union all
    select schema_ref.schema_id, schema_ref.until from metl.schema_ref where schema_ref.until is not null
) as change
inner join metl.schema on change.schema_id = schema.schema_id;
comment on view metl.schema_changes is
'The states that changed the versions, the mappings or the refs of each schema; a state may appear twice.';
-- sql/private/decompaction_at.sql
create or replace function metl._decompaction_at(state bigint, only_schema text default null)
returns table (
    schema text, version int, entity text, entity_version int, attribute text, entity_attribute text
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
-- One schema is found by an index, all of them are not.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    with run as (
        select
            block.block_id, block.entity_id, block.entity_version, block.version,
            lead(block.version) over (
                partition by block.schema_id, block.entity_id, block.entity_version order by block.version
            ) as next_version
        from metl.block
        where
            (only_schema is null or block.schema_id = (
                select named.schema_id from metl.schema as named where named.name = only_schema
            ))
            and block.since <= _decompaction_at.state
            and (block.until > _decompaction_at.state or block.until is null)
    )
    select schema.name, attribute.version, entity.name, run.entity_version, attribute.name, target.name
    from run
    inner join metl.cell on run.block_id = cell.block_id
    inner join metl.attribute_version as attribute
        on
            cell.attribute_id = attribute.attribute_id
            and attribute.version >= run.version
            and (attribute.version < run.next_version or run.next_version is null)
    inner join metl.schema_version as live
        on
            attribute.schema_id = live.schema_id
            and attribute.version = live.version
            and live.added <= _decompaction_at.state
            and (live.deleted > _decompaction_at.state or live.deleted is null)
    inner join metl.schema on attribute.schema_id = schema.schema_id
    inner join metl.entity on run.entity_id = entity.entity_id
    inner join metl.entity_attribute_version as target
        on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version;
end $$;
comment on function metl._decompaction_at(bigint, text) is
'Every 1 of the matrix as it was in a state, or those of one schema.';
-- sql/functions/decompaction_at.sql
create or replace function metl.decompaction_at(state bigint)
returns table (
    schema text, version int, entity text, entity_version int, attribute text, entity_attribute text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if decompaction_at.state is null or decompaction_at.state not between 0 and metl.current_state() then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('There is no state %s.', coalesce(decompaction_at.state::text, 'null')),
            hint = format('The states are 0 to %s.', metl.current_state());
    end if;
    return query select * from metl._decompaction_at(decompaction_at.state);
end $$;
comment on function metl.decompaction_at(bigint) is 'Every 1 of the matrix as it was in a state.';
-- sql/functions/diff.sql
create or replace function metl.diff(from_state bigint, to_state bigint)
returns table (
    change text, schema text, version int, entity text, entity_version int, attribute text, entity_attribute text
)
language sql stable
as $$
    select 'lost', lost.* from (
        select * from metl.decompaction_at(from_state) except select * from metl.decompaction_at(to_state)
    ) as lost
    union all
    select 'gained', gained.* from (
        select * from metl.decompaction_at(to_state) except select * from metl.decompaction_at(from_state)
    ) as gained
$$;
comment on function metl.diff(bigint, bigint) is 'The cells that were lost and gained from one state to another.';
-- sql/private/topics_at.sql
create or replace function metl._topics_at(state bigint)
returns table (topic text, schema text, format text, payload text, version int)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    -- As metl.topics, which says it of the current state and fast.
    with rule as materialized (
        select
            topic_rule.*,
            replace(replace(topic_rule.pattern, '_', '\_'), '*', '%') as likeness
        from metl.topic_rule
        where
            topic_rule.since <= _topics_at.state
            and (topic_rule.until > _topics_at.state or topic_rule.until is null)
    ),

    live as materialized (
        select schema_version.schema_id, schema_version.version
        from metl.schema_version
        where
            schema_version.added <= _topics_at.state
            and (schema_version.deleted > _topics_at.state or schema_version.deleted is null)
    ),

    topic as (
        select schema.name as topic, schema.schema_id
        from metl.schema
        where
            schema.name ~ '^[A-Za-z0-9._-]+$'
            and length(schema.name) <= 249
            and schema.name not in ('.', '..')
            and schema.name not in (select rule.pattern from rule where rule.schema_id is not null)
        union all
        select rule.pattern, rule.schema_id from rule where rule.schema_id is not null
    )

    select
        topic.topic,
        schema.name,
        coalesce(best.format, 'ext_json'),
        coalesce(best.payload, 'debezium'),
        case
            when best.format = 'plain' then
                case when best.version is null then newest.version else chosen.version end
        end
    from topic
    inner join (
        select live.schema_id, max(live.version) as version from live group by live.schema_id
    ) as newest on topic.schema_id = newest.schema_id
    inner join metl.schema on topic.schema_id = schema.schema_id
    left join lateral (
        select rule.format, rule.payload, rule.version
        from rule
        where topic.topic like rule.likeness
        order by rule.pattern = topic.topic desc, length(rule.pattern) desc, rule.pattern collate "C"
        limit 1
    ) as best on true
    left join live as chosen on topic.schema_id = chosen.schema_id and best.version = chosen.version
$$;
comment on function metl._topics_at(bigint) is 'How topics were read in a state.';
-- sql/private/column_sets_at.sql
create or replace function metl._column_sets_at(state bigint, only_schema text default null)
returns table (schema text, version int, kind text, ref text, column_set jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    with ref as (
        -- A content that comes back gives several versions the same ref: messages then mean the newest.
        select named.name as schema, max(schema_ref.version) as version, schema_ref.kind, schema_ref.ref
        from metl.schema_ref
        inner join metl.schema as named on schema_ref.schema_id = named.schema_id
        where
            (only_schema is null or named.name = only_schema)
            and schema_ref.since <= _column_sets_at.state
            and (schema_ref.until > _column_sets_at.state or schema_ref.until is null)
        group by named.name, schema_ref.kind, schema_ref.ref
        union all
        select named.name, live.version, 'version', live.version::text
        from metl.schema_version as live
        inner join metl.schema as named on live.schema_id = named.schema_id
        where
            (only_schema is null or named.name = only_schema)
            and live.added <= _column_sets_at.state
            and (live.deleted > _column_sets_at.state or live.deleted is null)
    ),

    block as (
        select
            one.schema, one.version, one.entity, one.entity_version,
            jsonb_object_agg(one.entity_attribute, one.attribute) as mapping
        from metl._decompaction_at(_column_sets_at.state, only_schema) as one
        group by one.schema, one.version, one.entity, one.entity_version
    ),

    column_set as (
        select
            block.schema,
            block.version,
            jsonb_agg(
                jsonb_build_object(
                    'entity', block.entity, 'entity_version', block.entity_version, 'mapping', block.mapping
                ) order by block.entity
            ) as column_set
        from block
        group by block.schema, block.version
    )

    select ref.schema, ref.version, ref.kind, ref.ref, coalesce(column_set.column_set, '[]')
    from ref
    left join column_set on ref.schema = column_set.schema and ref.version = column_set.version;
end $$;
comment on function metl._column_sets_at(bigint, text) is
'By what messages named the versions of schemas in a state, "version" among the kinds, and the column set of each; of '
'all schemas or of one.';
-- sql/functions/matrix_at.sql
create or replace function metl.matrix_at(state bigint)
returns table (key text, state bigint, schema text, version int, format text, payload text, column_set text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with topics as materialized (
        select * from metl._topics_at(matrix_at.state)
    ),

    ref as materialized (
        select * from metl._column_sets_at(matrix_at.state)
    ),

    fed as (
        select
            feeding.schema,
            jsonb_agg(
                jsonb_build_object('entity', feeding.entity, 'entity_version', feeding.entity_version)
            ) as entities
        from (
            select distinct
                ref.schema, block.value -> 'entity' as entity, block.value -> 'entity_version' as entity_version
            from ref
            cross join lateral jsonb_array_elements(ref.column_set) as block
            where ref.kind = 'version'
        ) as feeding
        group by feeding.schema
    )

    select '', matrix_at.state, null::text, null::int, null::text, null::text, '[]'
    union all
    select
        topics.topic, matrix_at.state, topics.schema, topics.version, topics.format, topics.payload,
        coalesce(fed.entities, '[]')::text
    from topics
    left join fed on topics.schema = fed.schema
    union all
    select
        topics.topic || ' ' || ref.kind || ' ' || ref.ref, matrix_at.state, topics.schema, ref.version,
        topics.format, topics.payload, ref.column_set::text
    from ref
    inner join topics on ref.schema = topics.schema
$$;
comment on function metl.matrix_at(bigint) is
'All that mapping needed to know in a state, as spark_jobs/mapper/matrix.sql says it of the current one: the state '
'itself (key ""), each topic, and each topic, kind and ref, with the column set of its version.';
-- sql/private/message_versions_at.sql
create or replace function metl._message_versions_at(state bigint, topic text, schema text, is_plain boolean)
returns table (ref text, version int, column_set jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select case when is_plain then '' else known.kind || ' ' || known.ref end, known.version, known.column_set
    from metl._column_sets_at(_message_versions_at.state, _message_versions_at.schema) as known
    -- Messages that name no version are all of the one that their topic is said to have.
    where (known.kind = 'version') = is_plain and (not is_plain or known.version = (
        select then_read.version from metl._topics_at(_message_versions_at.state) as then_read
        where then_read.topic = _message_versions_at.topic
    ))
$$;
comment on function metl._message_versions_at(bigint, text, text, boolean) is
'What messages of a topic said in a state to be of a version, that version and its column set.';
-- sql/functions/outdated.sql
create or replace function metl.outdated(since_state bigint)
returns table (
    topic text, partition int, first_offset bigint, next_offset bigint, schema text, states bigint[],
    versions int[], other_versions int[]
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with changed as materialized (
        select distinct diff.schema from metl.diff(since_state, metl.current_state()) as diff
    ),

    change as materialized (
        select change.schema, change.state
        from metl.schema_changes as change
        inner join changed on change.schema = changed.schema
        union
        select changed.schema, rule.state
        from changed
        cross join (
            select topic_rule.since from metl.topic_rule
            union
            select topic_rule.until from metl.topic_rule where topic_rule.until is not null
        ) as rule (state)
    ),

    read_range as materialized (
        select
            topics.topic,
            topics.schema,
            topics.format = 'plain' as is_plain,
            partition.key::int as partition,
            int8range(coalesce((partition.value ->> 0)::bigint, 0), (partition.value ->> 1)::bigint) as offsets,
            batch.state,
            batch.dead ? 'unknown_version' as has_unknown,
            -- The column sets of a schema stay the same from one of its changes to the next.
            coalesce((
                select max(change.state) from change
                where change.schema = topics.schema and change.state <= batch.state
            ), 0) as point
        from metl.job_batch as batch
        cross join lateral jsonb_each(batch.positions) as topic
        cross join lateral jsonb_each(topic.value) as partition
        inner join metl.topics on topic.key = topics.topic
        inner join changed on topics.schema = changed.schema
    ),

    point as (
        select read_range.topic, read_range.schema, read_range.is_plain, read_range.point as state from read_range
        union
        -- What no batch tells of, or a replay mapped, may have been mapped under any state.
        select read_range.topic, read_range.schema, read_range.is_plain, since.state
        from read_range
        inner join (
            select change.schema, change.state from change where change.state > since_state
            union
            select changed.schema, bound.state
            from changed cross join (values (since_state), (metl.current_state())) as bound (state)
        ) as since on read_range.schema = since.schema
    ),

    known as materialized (
        select point.topic, point.state, message.ref, message.version, message.column_set
        from point
        cross join lateral metl._message_versions_at(point.state, point.topic, point.schema, point.is_plain) as message
    ),

    -- Messages of versions that were added since are not among what was mapped before; those of versions that are
    -- deleted would be dead letters.
    compared as materialized (
        select
            past.topic, past.state, past.ref, present.version, past.column_set <> present.column_set as differs,
            array[past.column_set, present.column_set] as column_sets
        from known as past
        inner join known as present on past.topic = present.topic and past.ref = present.ref
        where present.state = metl.current_state()
    ),

    cell as materialized (
        select
            compared.topic, compared.state, compared.ref, compared.version, compared.differs,
            block.value ->> 'entity' as entity, mapping.key as entity_attribute,
            -- Once in each column set, unless it was lost, gained or changed.
            count(*) over (
                partition by
                    compared.topic, compared.state, compared.ref, block.value - 'mapping', mapping.key, mapping.value
            ) = 1 as is_changed
        from compared
        cross join lateral unnest(compared.column_sets) as each (column_set)
        cross join lateral jsonb_array_elements(each.column_set) as block
        cross join lateral jsonb_each(block.value -> 'mapping') as mapping
    ),

    aged as materialized (
        select compared.topic, compared.state, compared.ref, compared.version from compared where compared.differs
        union
        -- What a record does not bring any more is taken from older ones that come after it: those of other versions
        -- that feed the same.
        select other.topic, other.state, other.ref, other.version
        from cell
        inner join cell as other
            on
                cell.topic = other.topic and cell.state = other.state
                and cell.entity = other.entity and cell.entity_attribute = other.entity_attribute
        where cell.is_changed
    ),

    judged as materialized (
        select
            read_range.topic, read_range.partition, read_range.schema, read_range.is_plain, read_range.offsets,
            read_range.state, doubtful.ref, doubtful.version,
            aged.ref is not null as is_aged,
            -- A message whose version nobody knew may have been replayed since, and mapped with other cells.
            aged.ref is not null or (known.ref is null and read_range.has_unknown) as is_outdated
        from read_range
        inner join (select distinct aged.topic, aged.ref, aged.version from aged) as doubtful
            on read_range.topic = doubtful.topic
        left join aged
            on
                read_range.topic = aged.topic and read_range.point = aged.state
                and doubtful.ref = aged.ref and doubtful.version = aged.version
        left join known
            on read_range.topic = known.topic and read_range.point = known.state and doubtful.ref = known.ref
    ),

    by_state as (
        select
            judged.topic, judged.partition, judged.schema, judged.is_plain, judged.ref, judged.version, judged.state,
            range_agg(judged.offsets) as offsets,
            range_agg(judged.offsets) filter (where judged.is_outdated) as outdated,
            range_agg(judged.offsets) filter (where not judged.is_outdated) as right_ones
        from judged
        group by
            judged.topic, judged.partition, judged.schema, judged.is_plain, judged.ref, judged.version, judged.state
    ),

    -- Of two records of a message that of the higher state counts: what was mapped again since is right.
    superseded as (
        select
            by_state.*,
            by_state.outdated - coalesce(
                range_agg(by_state.right_ones) over (
                    partition by by_state.topic, by_state.partition, by_state.ref, by_state.version
                    order by by_state.state desc
                ), '{}'
            ) as still_outdated
        from by_state
    ),

    left_over as materialized (
        select
            superseded.topic, superseded.partition, superseded.schema, superseded.is_plain, superseded.version,
            coalesce(range_agg(superseded.still_outdated), '{}')
            -- A job that is killed between its commit and its word about it leaves a gap.
            + (int8multirange(range_merge(range_agg(superseded.offsets))) - range_agg(superseded.offsets)) as offsets
        from superseded
        group by
            superseded.topic, superseded.partition, superseded.schema, superseded.is_plain, superseded.ref,
            superseded.version
    ),

    mapped_under as (
        select
            judged.topic, judged.partition, max(judged.state) as last_state,
            coalesce(
                array_agg(distinct judged.state order by judged.state) filter (where judged.is_aged), '{}'
            ) as states
        from judged
        group by judged.topic, judged.partition
    ),

    -- From where to where the same versions are outdated.
    span as (
        select
            edge.topic, edge.partition,
            int8range(edge.place, lead(edge.place) over (
                partition by edge.topic, edge.partition order by edge.place
            )) as offsets
        from (
            select distinct left_over.topic, left_over.partition, bound.place
            from left_over
            cross join lateral unnest(left_over.offsets) as each (offsets)
            cross join lateral (values (lower(each.offsets)), (upper(each.offsets))) as bound (place)
        ) as edge
    ),

    found as (
        select
            span.topic, span.partition, span.offsets, left_over.schema, left_over.is_plain,
            array_agg(distinct left_over.version order by left_over.version) as versions
        from span
        inner join left_over
            on
                span.topic = left_over.topic and span.partition = left_over.partition
                and span.offsets <@ left_over.offsets
        group by span.topic, span.partition, span.offsets, left_over.schema, left_over.is_plain
    )

    select
        found.topic, found.partition, lower(found.offsets), upper(found.offsets), found.schema, mapped_under.states,
        found.versions,
        array(
            select other.version
            from metl.schema_versions as other
            where
                not found.is_plain
                and other.schema = found.schema
                and other.added <= mapped_under.last_state
                and other.version <> all(found.versions)
            order by other.version
        )
    from found
    inner join mapped_under on found.topic = mapped_under.topic and found.partition = mapped_under.partition
    order by found.topic, found.partition, lower(found.offsets)
$$;
comment on function metl.outdated(bigint) is
'What was mapped with cells that are no longer those of the matrix, of schemas whose cells changed since a state: the '
'first offset and the one after the last of each range, by what metl.job_batches has, the states that mapped them, the '
'versions whose messages are meant, and those whose messages may be there, too, and are right. '
'Offsets in between of which no batch tells count as well.';
-- sql/functions/feeds.sql
create or replace function metl.feeds(schema text, version int)
returns table (entity text, entity_version int, attribute text, entity_attribute text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := metl._require_schema_version(schema, version);
begin
    return query
    select one.entity, one.entity_version, one.attribute, one.entity_attribute
    from metl._ones as one
    where one.schema_id = _schema_id and one.version = feeds.version;
end $$;
comment on function metl.feeds(text, int) is 'What a schema version feeds: its column set.';
-- sql/functions/fed_by.sql
create or replace function metl.fed_by(entity text, entity_version int)
returns table (schema text, version int, attribute text, entity_attribute text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select one.schema, one.version, one.attribute, one.entity_attribute
    from metl._ones as one
    where one.entity_id = _entity_id and one.entity_version = fed_by.entity_version;
end $$;
comment on function metl.fed_by(text, int) is 'What feeds an entity version: the reverse search, its row set.';
-- sql/functions/search.sql
create or replace function metl.search(part text)
returns table (
    found text, schema text, versions int[], attribute text, entity text, entity_version int, entity_attribute text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- Case does not matter, and nothing in it stands for anything else.
    _part constant text := lower(part);
begin
    -- Of each thing its counterparts, one row each; a thing that maps nothing is a row without one.
    return query
    select
        'schema', known.name, array_agg(distinct live.version order by live.version), null::text,
        one.entity, one.entity_version, null::text
    from metl.schema as known
    inner join metl.schema_version as live on known.schema_id = live.schema_id and live.deleted is null
    left join metl._ones as one on live.schema_id = one.schema_id and live.version = one.version
    where strpos(lower(known.name), _part) > 0
    group by known.name, one.entity, one.entity_version;
    return query
    select
        'attribute', owner.name, array_agg(known.version order by known.version), known.name,
        one.entity, one.entity_version, one.entity_attribute
    from metl.attribute_version as known
    inner join metl.schema as owner on known.schema_id = owner.schema_id
    inner join metl.schema_version as live
        on known.schema_id = live.schema_id and known.version = live.version and live.deleted is null
    left join metl._ones as one on known.attribute_id = one.attribute_id and known.version = one.version
    where strpos(lower(known.name), _part) > 0
    group by owner.name, known.name, one.entity, one.entity_version, one.entity_attribute;
    return query
    select
        'entity', one.schema, array_agg(distinct one.version order by one.version) filter (where one.version is not null),
        null::text, known.name, live.version, null::text
    from metl.entity as known
    inner join metl.entity_version as live on known.entity_id = live.entity_id and live.deleted is null
    left join metl._ones as one on live.entity_id = one.entity_id and live.version = one.entity_version
    where strpos(lower(known.name), _part) > 0
    group by known.name, live.version, one.schema;
    return query
    select
        'entity_attribute', one.schema,
        array_agg(one.version order by one.version) filter (where one.version is not null),
        one.attribute, owner.name, known.version, known.name
    from metl.entity_attribute_version as known
    inner join metl.entity as owner on known.entity_id = owner.entity_id
    inner join metl.entity_version as live
        on known.entity_id = live.entity_id and known.version = live.version and live.deleted is null
    left join metl._ones as one
        on known.entity_attribute_id = one.entity_attribute_id and known.version = one.entity_version
    where strpos(lower(known.name), _part) > 0
    group by owner.name, known.version, known.name, one.schema, one.attribute;
end $$;
comment on function metl.search(text) is
'Live schemas, attributes, entities and entity attributes by a part of their name, and what each maps to.';
-- sql/views/progressions.sql
create or replace view metl.progressions as
with live as (
    select
        v.schema_id,
        v.version,
        lag(v.version) over (partition by v.schema_id order by v.version) as previous
    from metl.schema_version as v
    where v.deleted is null
)

select
    now.schema, live.version, now.entity, now.entity_version, now.attribute, now.entity_attribute, 'gained' as change
from live
inner join metl._ones as now on live.schema_id = now.schema_id and live.version = now.version
where not exists (
    select from metl._ones as before
    where
        before.schema_id = now.schema_id
        and before.version = live.previous
        and before.entity_attribute_id = now.entity_attribute_id
        and (before.attribute_id = now.attribute_id or before.attribute = now.attribute)
)
union all
select
    before.schema,
    live.version,
    before.entity,
    before.entity_version,
    before.attribute,
    before.entity_attribute,
    'lost'
from live
inner join metl._ones as before on live.schema_id = before.schema_id and live.previous = before.version
where not exists (
    select from metl._ones as now
    where
        now.schema_id = before.schema_id
        and now.version = live.version
        and now.entity_attribute_id = before.entity_attribute_id
        and (now.attribute_id = before.attribute_id or now.attribute = before.attribute)
);
comment on view metl.progressions is
'How the mappings of each schema went through its live versions: the cells that each version gained and lost.';
-- sql/functions/progression.sql
create or replace function metl.progression(schema text)
returns table (version int, entity text, entity_version int, attribute text, entity_attribute text, change text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform metl._require_schema(schema);
    return query
    select one.version, one.entity, one.entity_version, one.attribute, one.entity_attribute, one.change
    from metl.progressions as one
    where one.schema = progression.schema
    order by 1, 6, 2, 5;
end $$;
comment on function metl.progression(text) is
'How the mappings of a schema went through its live versions: the cells that each gained and lost.';
-- sql/private/unfed.sql
create or replace function metl._unfed(entity_id int)
returns table (schema_id int, schema text, entity_attribute_id bigint, version int, state bigint)
language sql stable
as $$
    with once as (
        select distinct block.schema_id, cell.entity_attribute_id
        from metl.block
        inner join metl.cell on block.block_id = cell.block_id
        where block.entity_id = _unfed.entity_id
    ),
    live as (
        select attribute.entity_attribute_id
        from metl.entity_version as version
        inner join metl.entity_attribute_version as attribute
            on version.entity_id = attribute.entity_id and version.version = attribute.version
        where version.entity_id = _unfed.entity_id and version.deleted is null
    ),
    fed as (
        select one.schema_id, one.entity_attribute_id, max(one.version) as version
        from metl._ones as one
        where one.entity_id = _unfed.entity_id
        group by one.schema_id, one.entity_attribute_id
    )
    select once.schema_id, named.name, once.entity_attribute_id, since.version, coalesce(
        -- The version fed it until then, or never did; or the schema has no version any more.
        (
            select max(ended.until)
            from metl.block as ended
            inner join metl.cell on ended.block_id = cell.block_id
            where
                ended.schema_id = once.schema_id and ended.entity_id = _unfed.entity_id
                and ended.version = since.version and cell.entity_attribute_id = once.entity_attribute_id
        ),
        (
            select min(own.since) from metl.block as own
            where
                own.schema_id = once.schema_id and own.entity_id = _unfed.entity_id and own.version = since.version
        ),
        (
            select max(coalesce(gone.deleted, gone.added)) from metl.schema_version as gone
            where gone.schema_id = once.schema_id and (gone.version = since.version or since.version is null)
        )
    )
    from once
    inner join live on once.entity_attribute_id = live.entity_attribute_id
    inner join metl.schema as named on once.schema_id = named.schema_id
    left join fed on once.schema_id = fed.schema_id and once.entity_attribute_id = fed.entity_attribute_id
    cross join lateral (
        select min(after.version) as version from metl.schema_version as after
        where
            after.schema_id = once.schema_id and after.deleted is null and after.version > coalesce(fed.version, 0)
    ) as since
    where since.version is not null or fed.version is null
$$;
comment on function metl._unfed(int) is
'Which schemas fed an attribute of an entity once and do not in their newest version: since which version, null if '
'the schema has none any more, and since which state.';
-- sql/functions/coverage.sql
create or replace function metl.coverage(entity text, entity_version int)
returns table (
    entity_attribute text, type text, sources int, schemas text[], all_schemas text[], unfed jsonb, column_policy text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    with feeding as (
        select
            one.entity_attribute_id, one.schema,
            -- Today is the newest version of each schema, whatever older ones still say.
            max(one.version) = (
                select max(v.version) from metl.schema_version as v
                where v.schema_id = one.schema_id and v.deleted is null
            ) as is_today
        from metl._ones as one
        where one.entity_id = _entity_id and one.entity_version = coverage.entity_version
        group by one.entity_attribute_id, one.schema, one.schema_id
    ),
    unfed as (
        select
            ended.entity_attribute_id,
            jsonb_agg(
                jsonb_build_object('schema', ended.schema, 'version', ended.version, 'state', ended.state)
                order by ended.schema
            ) as schemas
        from metl._unfed(_entity_id) as ended
        group by ended.entity_attribute_id
    )
    select
        wanted.name,
        identity.type,
        (count(*) filter (where feeding.is_today))::int,
        coalesce(array_agg(feeding.schema order by feeding.schema) filter (where feeding.is_today), '{}'),
        coalesce(array_agg(feeding.schema order by feeding.schema) filter (where feeding.schema is not null), '{}'),
        coalesce(unfed.schemas, '[]'),
        coalesce(policy.policy, 'keep')
    from metl.entity_attribute_version as wanted
    inner join metl.entity_attribute as identity on wanted.entity_attribute_id = identity.entity_attribute_id
    left join feeding on wanted.entity_attribute_id = feeding.entity_attribute_id
    left join unfed on wanted.entity_attribute_id = unfed.entity_attribute_id
    left join metl.column_policy as policy on wanted.entity_attribute_id = policy.entity_attribute_id
    where wanted.entity_id = _entity_id and wanted.version = coverage.entity_version
    group by wanted.name, identity.type, wanted.position, unfed.schemas, policy.policy
    order by wanted.position;
end $$;
comment on function metl.coverage(text, int) is
'Which schemas feed each attribute of an entity version in their newest version, and how many; which do in any; which '
'did once and do not today, since which version and state; and whether their rows keep the values that they had.';
-- sql/private/warehouse_names.sql
create or replace function metl._warehouse_type(type text) returns text
language sql immutable
return case type
    when 'integer' then 'bigint'
    when 'decimal' then 'numeric'
    when 'float' then 'double precision'
    when 'boolean' then 'boolean'
    when 'string' then 'text'
    when 'bytes' then 'bytea'
    when 'date' then 'date'
    when 'time' then 'time without time zone'
    when 'timestamp' then 'timestamp with time zone'
    when 'interval' then 'interval'
    when 'uuid' then 'uuid'
    else 'jsonb'
end;
comment on function metl._warehouse_type(text) is 'The type of the column of an attribute, by its generalized type.';

-- A name begins with an underscore only if it is ours, and PostgreSQL keeps 63 bytes of it.
create or replace function metl._warehouse_name(name text) returns text
language sql immutable
return case
    when
        octet_length(name) <= 63 and name not like '\_%'
        and name not in ('ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid')
        then name
    else substr(regexp_replace(name, '[^A-Za-z0-9]+', '_', 'g'), 1, 40) || '~' || substr(md5(name), 1, 8)
end;
comment on function metl._warehouse_name(text) is
'The name of a table or column: that of the entity or attribute. One that is longer than PostgreSQL takes, begins with '
'an underscore or is one of PostgreSQL''s own is shortened and ends with ~ and a digest.';

create or replace function metl._warehouse_work(job text) returns text
language sql immutable
return '_staged_' || substr(md5(job), 1, 12);
comment on function metl._warehouse_work(text) is 'The table of schema warehouse in which a job keeps a batch.';
-- sql/private/wire_values.sql
-- What comes over the wire as text, as SQL that makes a value of it. The zone of the session is UTC.
create or replace function metl._does_not_fit(value text, type text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if value is null then
        return null;
    end if;
    raise exception using
        errcode = 'data_exception',
        message = format('%s does not fit type %s without being altered.', quote_literal(left(value, 200)), type);
end $$;
comment on function metl._does_not_fit(text, text) is
'Refuses a value that would have to be altered; there is nothing to alter of null.';

create or replace function metl._decimal_of(bytes text, scale int) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    _bytes constant bytea := decode(bytes, 'base64');
    _found numeric := 0;
begin
    if bytes is null then
        return null;
    end if;
    if scale is null or length(_bytes) = 0 then
        perform metl._does_not_fit(bytes, 'numeric, since its scale is not known');
    end if;
    for _at in 0 .. length(_bytes) - 1 loop
        _found := _found * 256 + get_byte(_bytes, _at);
    end loop;
    if get_byte(_bytes, 0) >= 128 then
        _found := _found - power(256::numeric, length(_bytes));
    end if;
    return case
        when scale > 0 then round(trim_scale(_found * power(10::numeric, -scale)), scale)
        else _found * power(10::numeric, -scale)
    end;
end $$;
comment on function metl._decimal_of(text, int) is 'The number in a Connect Decimal: two''s complement, as base64.';

-- Of what should be a number or a date, and not of anything: a regular expression would take three times as long.
create or replace function metl._wire_is_number(value text) returns text
language sql immutable
return format('translate(substr(%s, 2), ''0123456789'', '''') = ''''', value);
comment on function metl._wire_is_number(text) is
'SQL for whether a value consists of digits, with perhaps a sign before them.';

-- ISO 8601 counts years with a sign and from a year 0 on, PostgreSQL backwards from 1 BC.
create or replace function metl._postgres_year(value text) returns text
language sql immutable
return case
    when value ~ '^[+][0-9]' then substr(value, 2)
    when value ~ '^(-[0-9]|0000-)' then
        lpad((abs(substring(value from '^-?[0-9]+')::bigint) + 1)::text, 4, '0')
        || regexp_replace(value, '^-?[0-9]+', '') || ' BC'
    else value
end;
comment on function metl._postgres_year(text) is
'A date or moment of ISO 8601 as PostgreSQL reads it, also before Christ and after the year 9999.';

create or replace function metl._wire_year(value text) returns text
language sql immutable
return format(
    '(case when left(%1$s, 1) in (''+'', ''-'') or left(%1$s, 5) = ''0000-'' '
    'then metl._postgres_year(%1$s) else %1$s end)',
    value
);
comment on function metl._wire_year(text) is
'SQL for a date or moment of ISO 8601 as PostgreSQL reads it; a look at its first letters suffices for most.';

create or replace function metl._wire_moment(value text) returns text
language sql immutable
return format(
    '(case when length(%1$s) > 15 and %1$s ~ ''[.][0-9]{6}[0-9]*[1-9]'' '
    'then metl._does_not_fit(%1$s, ''microseconds'') else %1$s end)', value
);
comment on function metl._wire_moment(text) is
'SQL for a time or a moment as text, refused if PostgreSQL would round it.';

create or replace function metl._wire_native(value text, source_type text, type text) returns text
language sql immutable
as $$
    with named as (
        select metl._type_name(source_type) as name, metl._wire_is_number(value) as is_number
    ),

    units as (
        select
            *,
            case
                when name in (
                    'io.debezium.time.time', 'org.apache.kafka.connect.data.time', 'time-millis',
                    'io.debezium.time.timestamp', 'org.apache.kafka.connect.data.timestamp',
                    'timestamp-millis', 'local-timestamp-millis'
                ) then format('(%s::bigint * 1000)', value)
                when name in ('io.debezium.time.nanotime', 'io.debezium.time.nanotimestamp', 'timestamp-nanos')
                    then format(
                        'case when %1$s::bigint %% 1000 = 0 then %1$s::bigint / 1000 '
                        'else metl._does_not_fit(%1$s, ''microseconds'')::bigint end',
                        value
                    )
                else format('%s::bigint', value)
            end as microseconds
        from named
    )

    select case
        -- Infinite ones are, in Debezium's words, days and moments that PostgreSQL cannot count to.
        when type = 'date' then format(
            '(case when not %2$s then %3$s::date when %1$s::int = -2147472692 then date ''infinity'' '
            'when %1$s::int = -2147472691 then date ''-infinity'' else date ''epoch'' + %1$s::int end)',
            value, is_number, metl._wire_year(value)
        )
        when type = 'time' then format(
            '(case when %2$s then case when %3$s = 86400000000 then time ''24:00'' '
            'when %3$s between 0 and 86399999999 then time ''00:00'' + %3$s * interval ''1 microsecond'' '
            'else metl._does_not_fit(%1$s, ''time'')::time end '
            'else (%4$s::timetz at time zone ''UTC'')::time end)',
            value, is_number, microseconds, metl._wire_moment(value)
        )
        -- In days and the rest, since an interval is multiplied as a float.
        when type = 'timestamp' then format(
            '(case when not %2$s then %4$s::timestamptz when (%3$s) = 9223372036825200000 then timestamptz ''infinity'' '
            'when (%3$s) = -9223372036832400000 then timestamptz ''-infinity'' '
            'else timestamptz ''epoch'' + (%3$s) / 86400000000 * interval ''1 day'' '
            '+ (%3$s) %% 86400000000 * interval ''1 microsecond'' end)',
            value, is_number, microseconds, metl._wire_year(metl._wire_moment(value))
        )
        when type = 'interval' then format(
            '(case when %2$s then %1$s::bigint * interval ''1 microsecond'' else %1$s::interval end)', value, is_number
        )
        when type = 'bytes' then format('decode(%s, ''base64'')', value)
        when type = 'integer' then format('%s::numeric', value)
        when type = 'decimal' then format('%s::numeric', value)
        when type = 'float' then format('%s::float8', value)
        when type = 'boolean' then format('%s::boolean', value)
        when type = 'uuid' then format('%s::uuid', value)
        else value
    end
    from units
$$;
comment on function metl._wire_native(text, text, text) is 'SQL for a value as the type that its source has for it.';

create or replace function metl._wire_value(value text, source_type text, type text, target text) returns text
language sql immutable
as $$
    with native as (select metl._wire_native(value, source_type, type) as it)

    select case
        when target not in (
            'integer', 'decimal', 'float', 'boolean', 'string', 'bytes', 'date', 'time', 'timestamp', 'interval', 'uuid'
        ) then format('%s::jsonb', value)
        when type = 'string' and target = 'bytes' then format('convert_to(%s, ''UTF8'')', value)
        when type = 'string' and target in ('time', 'timestamp') then
            format('%s::%s', metl._wire_moment(value), metl._warehouse_type(target))
        when type = 'string' and target = 'date' then format(
            'case when %1$s::timestamp = %1$s::date then %1$s::date else metl._does_not_fit(%1$s, ''date'')::date end',
            value
        )
        when target = 'float' and type in ('integer', 'decimal', 'string') then format(
            'case when %1$s::float8::text::numeric = %1$s::numeric then %1$s::float8 '
            'else metl._does_not_fit(%1$s, ''double precision'')::float8 end', value
        )
        when type in ('string', 'json', 'any', 'object', 'array', 'geometry') then
            format('%s::%s', value, metl._warehouse_type(target))
        -- As exact as PostgreSQL itself: what it would round is refused.
        when target = 'integer' and type in ('integer', 'decimal', 'float') then format(
            'case when %2$s then %1$s::bigint when %1$s::numeric = trunc(%1$s::numeric) then %1$s::numeric::bigint '
            'else metl._does_not_fit(%1$s, ''bigint'')::bigint end', value, metl._wire_is_number(value)
        )
        when target = 'decimal' and type = 'float' then format('%s::numeric', value)
        when target = 'string' and type in ('integer', 'decimal', 'boolean', 'uuid') then value
        when target = 'string' and type = 'timestamp' and metl._type_name(source_type) not in (
            'timestamptz', 'timestamp with time zone', 'timestamp with local time zone', 'datetimeoffset', 'date-time',
            'io.debezium.time.zonedtimestamp'
        ) then format('(%s at time zone ''UTC'')::text', it)
        when target = 'date' and type = 'timestamp' then format(
            'case when %1$s = date_trunc(''day'', %1$s) then %1$s::date '
            'else metl._does_not_fit(%2$s, ''date'')::date end', it, value
        )
        -- A cast would drop the days.
        when target = 'time' and type = 'interval' then format(
            'case when %1$s::time::interval = %1$s then %1$s::time else metl._does_not_fit(%2$s, ''time'')::time end',
            it, value
        )
        when target = 'time' and type = 'timestamp' then format('metl._does_not_fit(%s, ''time'')::time', value)
        when type = target and target <> 'integer' then it
        else format('(%s)::%s', it, metl._warehouse_type(target))
    end
    from native
$$;
comment on function metl._wire_value(text, text, text, text) is
'SQL for the value of a column, of a value of some source type and generalized type that came as text.';
-- sql/private/shape_table.sql
-- The columns that are not the entity's own.
create or replace function metl._warehouse_own() returns table (name text, type text, description text)
language sql immutable
as $$
    values
    ('_source', 'text', 'Topic that the row comes from: rows of two sources are never the same.'),
    ('_key', 'jsonb', 'Key of the row at its source; of a record without a key its position.'),
    ('_partition', 'integer', 'Partition of the last message about the row; -1 for a row that came by SQL, or whose position was forgotten.'),
    ('_offset', 'bigint', 'Offset of that message, by which newer is told from older; by SQL, its time.'),
    ('_at', 'bigint', 'ts_ms of that message, or when the row was read.'),
    ('_deleted', 'boolean', 'Whether the row is gone at its source: then it has no values.'),
    ('_state', 'bigint', 'State under which that message was mapped.'),
    ('_schema', 'text', 'Schema of that message.'),
    ('_version', 'integer', 'Version of that schema.'),
    ('_kept', 'jsonb', 'Columns that this message did not bring, each with offset and state of the one its value is from, or -1 and the time.')
$$;
comment on function metl._warehouse_own() is 'The columns that every table of the warehouse has beside the attributes.';

-- The live attributes of an entity, with the columns they have or would have.
create or replace function metl._warehouse_shape(entity text)
returns table (entity_attribute_id bigint, attribute text, name text, type text, description text, place int)
language sql stable
as $$
    select
        attribute.entity_attribute_id,
        attribute.entity_attribute,
        metl._warehouse_name(attribute.entity_attribute),
        metl._warehouse_type(attribute.type),
        attribute.description,
        attribute.position
    from metl.entity_attributes as attribute
    where attribute.entity = _warehouse_shape.entity and attribute.is_live
$$;
comment on function metl._warehouse_shape(text) is 'The columns that the live version of an entity asks for.';

create or replace function metl._warehouse_check(entity text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
    _wrong text;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = _warehouse_check.entity;
    if to_regclass(format('warehouse.%I', _known.name)) is null then
        raise exception using
            errcode = 'undefined_table',
            message = format('Table warehouse.%I is gone: it was dropped or renamed by hand.', _known.name),
            hint = format(
                'Bring it back, or let it be made anew with select metl.forget_warehouse_table(%L) and load it again.', entity
            );
    end if;
    select string_agg(
        case
            when found.attname is null then format('column %I is missing', wanted.name)
            else format('column %I is %s instead of %s', wanted.name, format_type(found.atttypid, found.atttypmod), wanted.type)
        end, ', '
    ) into _wrong
    from (
        select own.name, own.type from metl._warehouse_own() as own
        union all
        select known.name, metl._warehouse_type(identity.type)
        from metl.warehouse_column as known
        inner join metl.entity_attribute as identity using (entity_attribute_id)
        inner join metl.entity_attribute_version as live
            on known.entity_attribute_id = live.entity_attribute_id and live.version = _known.entity_version
        where known.entity_id = _known.entity_id
    ) as wanted
    left join pg_attribute as found
        on
            found.attrelid = format('warehouse.%I', _known.name)::regclass
            and found.attname = wanted.name and not found.attisdropped
    where found.attname is null or format_type(found.atttypid, found.atttypmod) <> wanted.type;
    if _wrong is not null then
        raise exception using
            errcode = 'datatype_mismatch',
            message = format('Table warehouse.%I was altered by hand: %s.', _known.name, _wrong),
            hint = format(
                'Alter it back, or let it be made anew: drop it, select metl.forget_warehouse_table(%L), load it again.', entity
            );
    end if;
end $$;
comment on function metl._warehouse_check(text) is 'Refuses a table that somebody altered by hand.';

create or replace function metl._warehouse_make(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _name constant text := metl._warehouse_name(entity);
    _id int;
    _column record;
begin
    if to_regclass(format('warehouse.%I', _name)) is not null then
        raise exception using
            errcode = 'duplicate_table',
            message = format('There is a table warehouse.%I already, which METL did not make.', _name),
            hint = 'Rename or drop it: the table of the entity has this name.';
    end if;
    insert into metl.warehouse_table (entity_id, name, entity_version)
    select known.entity_id, _name, version.version
    from metl.entity as known inner join metl.entity_version as version using (entity_id)
    where known.name = entity and version.deleted is null
    returning entity_id into _id;
    execute format(
        'create table warehouse.%I (%s, constraint %I primary key (_source, _key))',
        _name,
        (select string_agg(
            format('%I %s%s', own.name, own.type, case own.name
                when '_source' then ' collate "C" not null' when '_key' then ' not null' when '_deleted' then ' not null'
            end), ', '
        ) from metl._warehouse_own() as own),
        substr(_name, 1, 55) || '_pk'
    );
    execute format(
        'create index %I on warehouse.%I (_source, _key) where _kept is not null', substr(_name, 1, 55) || '_kept', _name
    );
    for _column in select * from metl._warehouse_shape(entity) order by place loop
        insert into metl.warehouse_column (entity_attribute_id, entity_id, name)
        values (_column.entity_attribute_id, _id, _column.name);
        execute format('alter table warehouse.%I add column %I %s', _name, _column.name, _column.type);
    end loop;
    for _column in select rolname from pg_roles where rolname in ('metl_reader', 'metl_steward', 'metl_job') loop
        execute format('grant select on warehouse.%I to %I', _name, _column.rolname);
    end loop;
end $$;
comment on function metl._warehouse_make(text) is 'Makes the table of an entity.';

create or replace function metl._warehouse_convert(relation text, name text, type text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _old text;
    _lost text;
    _reason text;
begin
    select format_type(atttypid, atttypmod) into _old
    from pg_attribute where attrelid = format('warehouse.%I', relation)::regclass and attname = name;
    begin
        -- There and back again: what a cast drops is lost as much as what it refuses.
        execute format(
            'select %1$I::text from warehouse.%2$I where %1$I is distinct from %1$I::text::%3$s::text::%4$s limit 1',
            name, relation, type, _old
        ) into _lost;
        _reason := format('%L would be altered', left(_lost, 200));
        if _lost is null then
            execute format('alter table warehouse.%1$I alter column %2$I type %3$s using %2$I::text::%3$s', relation, name, type);
            return;
        end if;
    exception when data_exception or cannot_coerce then
        _reason := sqlerrm;
    end;
    raise exception using
        errcode = 'datatype_mismatch',
        message = format('Column %I of warehouse.%I cannot become %s: %s.', name, relation, type, _reason),
        hint = 'Mend those values at their source and load them again, or add a version of the entity that has another '
        'name for it.';
end $$;
comment on function metl._warehouse_convert(text, text, text) is
'Changes the type of a column, if every value fits.';

create or replace function metl._warehouse_elevate(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
    _change record;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = _warehouse_elevate.entity;
    -- Those that go make way first, then those that change their names, through names that nobody has.
    for _change in
        select known.entity_attribute_id, known.name
        from metl.warehouse_column as known
        where
            known.entity_id = _known.entity_id and not known.retired
            and not exists (
                select from metl._warehouse_shape(entity) as wanted
                left join metl.warehouse_column as same on wanted.entity_attribute_id = same.entity_attribute_id
                where same.name = known.name or (same.name is null and wanted.name = known.name)
            )
    loop
        execute format(
            'alter table warehouse.%I rename column %I to %I',
            _known.name, _change.name, format('_old_%s_%s', _change.entity_attribute_id, substr(_change.name, 1, 20))
        );
        update metl.warehouse_column set retired = true, name = format('_old_%s_%s', _change.entity_attribute_id, substr(_change.name, 1, 20))
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    for _change in
        select known.entity_attribute_id, known.name, wanted.name as new_name
        from metl.warehouse_column as known
        inner join metl._warehouse_shape(entity) as wanted using (entity_attribute_id)
        where known.name <> wanted.name
    loop
        execute format('alter table warehouse.%I rename column %I to %I', _known.name, _change.name, '_new_' || _change.entity_attribute_id);
        update metl.warehouse_column set name = '_new_' || _change.entity_attribute_id
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    for _change in
        select known.entity_attribute_id, known.name, wanted.name as new_name
        from metl.warehouse_column as known
        inner join metl._warehouse_shape(entity) as wanted using (entity_attribute_id)
        where known.name <> wanted.name
    loop
        execute format('alter table warehouse.%I rename column %I to %I', _known.name, _change.name, _change.new_name);
        update metl.warehouse_column set name = _change.new_name
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    -- A name that stays with another identity has another type.
    for _change in
        select wanted.entity_attribute_id, wanted.name, wanted.type, known.name is not null as is_there
        from metl._warehouse_shape(entity) as wanted
        left join metl.warehouse_column as same on wanted.entity_attribute_id = same.entity_attribute_id
        left join lateral (
            select other.name from metl.warehouse_column as other
            where other.entity_id = _known.entity_id and other.name = wanted.name limit 1
        ) as known on true
        where same.name is null
        order by wanted.place
    loop
        if _change.is_there then
            perform metl._warehouse_convert(_known.name, _change.name, _change.type);
        else
            execute format('alter table warehouse.%I add column %I %s', _known.name, _change.name, _change.type);
        end if;
        insert into metl.warehouse_column (entity_attribute_id, entity_id, name)
        values (_change.entity_attribute_id, _known.entity_id, _change.name);
    end loop;
    update metl.warehouse_table set entity_version = version.version
    from metl.entity_version as version
    where
        warehouse_table.entity_id = _known.entity_id
        and version.entity_id = _known.entity_id and version.deleted is null;
end $$;
comment on function metl._warehouse_elevate(text) is
'Gives a table the shape of the live version of its entity. Columns are added, renamed and converted; those of '
'attributes that are gone are kept under a name that begins with _old_.';
-- sql/private/screen_batch.sql
-- What is in a batch, and what of it nobody could merge.
create or replace function metl._warehouse_reject(staged text, condition text, reason text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _count bigint;
begin
    execute format(
        'insert into warehouse._rejected (entity, source, partition, "offset", state, key, reason)
         select work.entity, work.source, %1$s, %2$s, %3$s, work.key, %4$L from warehouse.%5$I as work where %6$s
         on conflict do nothing',
        'case when work.partition ~ ''^[0-9]{1,9}$'' then work.partition::int end',
        'case when work."offset" ~ ''^[0-9]{1,18}$'' then work."offset"::bigint end',
        'case when work.state ~ ''^[0-9]{1,18}$'' then work.state::bigint end',
        reason, staged, condition
    );
    execute format('update warehouse.%I as work set round = -1 where %s', staged, condition);
    get diagnostics _count = row_count;
    return _count;
end $$;
comment on function metl._warehouse_reject(text, text, text) is
'Records why the records that meet a condition are in no table; how many there are.';

create or replace function metl._warehouse_unfit() returns table (condition text, reason text)
language sql immutable
begin atomic
    select rule.*
    from (
        values
        (
            'num_nulls(work.source, work.partition, work."offset", work.state) > 0 '
            'or concat(work.partition, '' '', work."offset", '' '', work.state, '' '', coalesce(work.version, ''0''), '
            ''' '', coalesce(work.at, ''0'')) !~ ''^-?[0-9]{1,9} -?[0-9]{1,18} [0-9]{1,18} [0-9]{1,9} -?[0-9]{1,18}$''',
            'It has no position.'
        ),
        ('work.op is null or work.op not in (''c'', ''r'', ''u'', ''d'', ''t'')', 'It does not say what happened.'),
        ('work.key is null or work.key = ''null'' and work.op in (''u'', ''d'')', 'It has no key.')
    ) as rule (condition, reason);
end;
comment on function metl._warehouse_unfit() is 'Which records nobody could merge, as SQL, and why.';

create or replace function metl._warehouse_screen(staged text, entity text) returns bigint
language sql
as $$
    select sum(metl._warehouse_reject(
        staged, format('work.entity = %L and work.round > 0 and (%s)', entity, unfit.condition), unfit.reason
    ))
    from metl._warehouse_unfit() as unfit
$$;
comment on function metl._warehouse_screen(text, text) is
'Rejects the records of an entity that nobody could merge; how many there are.';

create or replace function metl._warehouse_survey(staged text, entity text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _kinds jsonb;
begin
    execute format(
        'select coalesce(jsonb_agg(kind), ''[]'') from (
            select work.op, work.state, work.schema, work.version, bool_and((%s) is not true) as fits
            from warehouse.%I as work where work.entity = %L and work.round > 0
            group by work.op, work.state, work.schema, work.version
        ) as kind',
        (select string_agg(unfit.condition, ' or ') from metl._warehouse_unfit() as unfit), staged, entity
    ) into _kinds;
    return _kinds;
end $$;
comment on function metl._warehouse_survey(text, text) is
'The kinds of records of an entity: what happened, and which version was mapped under which state. All in one look, '
'since a batch is large and its kinds are few.';
-- sql/private/truncate_tables.sql
-- A truncate is in one partition of its topic. Rows of the same one go by offset, those of others by the time of the
-- event; one of the same millisecond is taken to be newer, since tables are truncated in order to be filled again.
create or replace function metl._warehouse_empty(staged text, entity text, made metl.warehouse_table) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
begin
    for _each in execute format(
        'insert into metl.warehouse_truncate as known (entity_id, source, partition, "offset", at)
         select %s, source, partition::int, max("offset"::bigint), max(coalesce(at::bigint, 0))
         from warehouse.%I where entity = %L and op = ''t'' and round > 0 group by source, partition::int
         on conflict (entity_id, source, partition) do update set
             "offset" = greatest(known."offset", excluded."offset"), at = greatest(known.at, excluded.at)
         returning *', made.entity_id, staged, entity
    ) loop
        execute format(
            'update warehouse.%I set _deleted = true, _kept = null%s where _source = %L and not _deleted
             and case when _partition = %L then _offset < %L else _at < %L end',
            made.name,
            (
                select string_agg(distinct format(', %I = null', owned.name), '')
                from metl.warehouse_column as owned where owned.entity_id = made.entity_id
            ),
            _each.source, _each.partition, _each."offset", _each.at
        );
    end loop;
    -- What comes again from before a truncate is gone, too.
    if exists (select from metl.warehouse_truncate as known where known.entity_id = made.entity_id) then
        execute format(
            'update warehouse.%I as work set op = ''d'', unavailable = null from metl.warehouse_truncate as known
             where known.entity_id = %s and work.entity = %L and work.source = known.source
             and work.op in (''c'', ''r'', ''u'') and work.round > 0 and case
                 when work.partition::int = known.partition then work."offset"::bigint < known."offset"
                 else coalesce(work.at::bigint, 0) < known.at
             end', staged, made.entity_id, entity
        );
    end if;
end $$;
comment on function metl._warehouse_empty(text, text, metl.warehouse_table) is
'Marks rows that are older than a truncate as deleted.';
-- sql/private/arrange_batch.sql
-- A row is merged with one record at a time, the newest first: only after that one it is known what is missing of the
-- others. Those before one that brings all are not needed, and wait in round 0.
create or replace function metl._warehouse_arrange(staged text, entity text, shapes jsonb) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
-- A batch has no statistics: it would be taken for small, and joined with itself row by row.
set enable_nestloop = off
as $$
declare
    _rounds int;
begin
    execute format(
        'with again as (
            select source, key from warehouse.%1$I where entity = %2$L and round > 0 and op <> ''t'' and key <> ''null''
            group by source, key having count(*) > 1
        ), placed as (
            select work.id, work.source, work.key, work.partition, work."offset"::bigint as place,
                work.state::bigint as state, work.unavailable is null and (
                    work.op = ''c''
                    -- One without a time cannot tell whether it is newer than a row of another partition.
                    or (work.op = ''d'' and work.at is not null)
                    or concat_ws('' '', work.state, work.version, work.schema) = any(%3$L::text[])
                ) as is_whole,
                max(work.state::bigint) over (partition by work.source, work.key, work.partition, work."offset")
                    as last_state
            from warehouse.%1$I as work inner join again using (source, key)
            where work.entity = %2$L and work.round > 0
        ), judged as (
            -- What was mapped again since does not count any more.
            select *, max(place) filter (where is_whole and state = last_state) over (
                partition by source, key, partition
            ) as whole
            from placed
        ), numbered as (
            select id, case when place < whole then 0 else row_number() over (
                partition by source, key, place < whole order by place desc, state desc, id desc
            ) end as round
            from judged
        ), changed as (
            update warehouse.%1$I as work set round = numbered.round from numbered
            where work.id = numbered.id and numbered.round <> 1
            returning work.round
        )
        select coalesce(max(round), 1) from changed',
        staged, entity,
        array(
            select shape ->> 'feed' from jsonb_array_elements(shapes) as shape
            where (shape ->> 'whole')::boolean and shape ->> 'op' = 'u'
        )
    ) into _rounds;
    return greatest(_rounds, 1);
end $$;
comment on function metl._warehouse_arrange(text, text, jsonb) is
'Puts records about the same row into rounds, and says how many there are.';

create or replace function metl._warehouse_recall(staged text, entity text, rounds int) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
-- A batch has no statistics: it would be taken for small, and joined with itself row by row.
set enable_nestloop = off
as $$
declare
    _rounds int;
begin
    execute format(
        'with bad as materialized (
            select distinct source, key from warehouse.%1$I where entity = %2$L and round = -1
        ), numbered as (
            select work.id, row_number() over (partition by work.source, work.key order by work."offset"::bigint) as place
            from warehouse.%1$I as work inner join bad using (source, key)
            where work.entity = %2$L and work.round = 0
        ), changed as (
            update warehouse.%1$I as work set round = %3$s + numbered.place from numbered
            where work.id = numbered.id returning work.round
        )
        select max(round) from changed', staged, entity, rounds
    ) into _rounds;
    return _rounds;
end $$;
comment on function metl._warehouse_recall(text, text, int) is
'Where a record that brings all was rejected, those before it count: puts them into further rounds; null if there are '
'none.';
-- sql/private/read_record.sql
-- What records of one schema version, mapped under one state, have for an entity.
create or replace function metl._warehouse_cells(entity text, state bigint, schema text, version int)
returns table (attribute text, name text, source_type text, type text, target text)
language sql stable
as $$
    select cell.entity_attribute, known.name, source.source_type, source.type, identity.type
    from (
        select one.attribute, one.entity_attribute, one.entity_version
        from metl.decompaction as one
        where
            one.schema = _warehouse_cells.schema and one.version = _warehouse_cells.version
            and one.entity = _warehouse_cells.entity and _warehouse_cells.state = metl.current_state()
        union all
        select one.attribute, one.entity_attribute, one.entity_version
        from (
            select least(_warehouse_cells.state, metl.current_state()) as state where _warehouse_cells.state <> metl.current_state()
        ) as earlier
        cross join lateral metl.decompaction_at(earlier.state) as one
        where
            one.schema = _warehouse_cells.schema and one.version = _warehouse_cells.version
            and one.entity = _warehouse_cells.entity
    ) as cell
    inner join metl.schema_attributes as source
        on
            source.schema = _warehouse_cells.schema and source.version = _warehouse_cells.version
            and source.attribute = cell.attribute
    inner join metl.entity_attributes as target
        on
            target.entity = _warehouse_cells.entity and target.entity_version = cell.entity_version
            and target.entity_attribute = cell.entity_attribute
    inner join metl.warehouse_column as known
        on target.entity_attribute_id = known.entity_attribute_id and not known.retired
    -- An attribute may have got another type since, which the column has now.
    inner join lateral (
        select live.type from metl.entity_attributes as live
        inner join metl.warehouse_column as same using (entity_attribute_id)
        where live.entity = _warehouse_cells.entity and live.is_live and same.name = known.name
        limit 1
    ) as identity on true
$$;
comment on function metl._warehouse_cells(text, bigint, text, int) is
'The columns that records of a schema version bring, mapped under a state, and what their values are at the source.';

-- The columns that some version of the schema brings: another record of the row may have them.
create or replace function metl._warehouse_brought(entity text, schema text) returns text[]
language sql stable
as $$
    select coalesce(array_agg(distinct known.name), '{}')
    from metl.decompaction as one
    inner join metl.entity_attributes as target
        on
            one.entity = target.entity and one.entity_version = target.entity_version
            and one.entity_attribute = target.entity_attribute
    inner join metl.warehouse_column as known
        on target.entity_attribute_id = known.entity_attribute_id and not known.retired
    where one.entity = _warehouse_brought.entity and one.schema = _warehouse_brought.schema
$$;
comment on function metl._warehouse_brought(text, text) is 'The columns that a schema has for an entity.';

create or replace function metl._warehouse_read(attribute text, source_type text, type text, target text)
returns table (declared text, value text)
language sql immutable
as $$
    with named as (select metl._type_name(source_type) as name)

    select
        case
            when octet_length(attribute) > 63 then null
            when
                name in ('org.apache.kafka.connect.data.decimal', 'io.debezium.data.variablescaledecimal')
                -- A JSON document comes as text; a list or a structure of Connect's does not.
                or (metl._warehouse_type(target) = 'jsonb' and target <> 'json' and type <> 'json')
                then format('%I json', attribute)
            else format('%I text', attribute)
        end,
        case
            -- Longer than the name of a column.
            when octet_length(attribute) > 63 then format('(work.after::json ->> %L)', attribute)
            when name = 'org.apache.kafka.connect.data.decimal' then format(
                '(case json_typeof(read.%1$I) when ''string'' then metl._decimal_of(read.%1$I #>> ''{}'', %2$s)::text '
                'else read.%1$I #>> ''{}'' end)',
                attribute, coalesce(substring(source_type from '[(]([0-9]+)[)]'), 'null')
            )
            when name = 'io.debezium.data.variablescaledecimal' then format(
                'metl._decimal_of(read.%1$I ->> ''value'', (read.%1$I ->> ''scale'')::int)::text', attribute
            )
            else format('read.%I', attribute)
        end
    from named
$$;
comment on function metl._warehouse_read(text, text, text, text) is
'How an attribute is declared to be read from JSON, and SQL for what it then is as text.';
-- sql/private/describe_warehouse.sql
create or replace function metl._warehouse_comments(entity text) returns table (name text, description text)
language sql stable
as $$
    with made as (
        select made.* from metl.warehouse_table as made
        inner join metl.entity as named on made.entity_id = named.entity_id
        where named.name = _warehouse_comments.entity
    ),
    unfed as (
        select ended.entity_attribute_id, string_agg(
            format(
                'Not fed by %s since %sstate %s: %s.', ended.schema, 'version ' || ended.version || ', ', ended.state,
                case
                    when policy.policy = 'clear' and ended.version is not null then 'null in its rows'
                    else 'its rows keep what they had'
                end
            ), ' ' order by ended.schema
        ) as text
        from made
        cross join lateral metl._unfed(made.entity_id) as ended
        left join metl.column_policy as policy on ended.entity_attribute_id = policy.entity_attribute_id
        group by ended.entity_attribute_id
    )
    select own.name, own.description from metl._warehouse_own() as own
    union all
    select
        known.name,
        concat_ws(' ', 'Attribute ' || quote_ident(shape.attribute) || '.', shape.description, unfed.text)
    from metl._warehouse_shape(entity) as shape
    inner join metl.warehouse_column as known on shape.entity_attribute_id = known.entity_attribute_id
    left join unfed on shape.entity_attribute_id = unfed.entity_attribute_id
    union all
    select known.name, format('No longer part of the entity since version %s.', made.entity_version)
    from made
    inner join metl.warehouse_column as known on made.entity_id = known.entity_id and known.retired
$$;
comment on function metl._warehouse_comments(text) is
'What each column of the table of an entity means, and which schemas do not feed it any more.';

create or replace function metl._describe_warehouse(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _made metl.warehouse_table;
    _relation regclass;
    _column record;
begin
    select made.* into _made
    from metl.warehouse_table as made inner join metl.entity as named using (entity_id)
    where named.name = _describe_warehouse.entity;
    _relation := format('warehouse.%I', _made.name)::regclass;
    for _column in
        select wanted.*
        from metl._warehouse_comments(entity) as wanted
        inner join pg_attribute as found
            on found.attrelid = _relation and found.attname = wanted.name and not found.attisdropped
        where wanted.description is distinct from col_description(_relation, found.attnum)
    loop
        execute format('comment on column %s.%I is %L', _relation, _column.name, _column.description);
    end loop;

    with wanted as materialized (
        select ended.entity_attribute_id, ended.schema_id
        from metl._unfed(_made.entity_id) as ended
        inner join metl.column_policy as policy
            on ended.entity_attribute_id = policy.entity_attribute_id and policy.policy = 'clear'
        -- A schema that is gone as a whole took no values back.
        where ended.version is not null
    ),
    _ as (
        delete from metl.warehouse_clearing as done
        using metl.warehouse_column as known
        where
            done.entity_attribute_id = known.entity_attribute_id and known.entity_id = _made.entity_id
            and not exists (
                select from wanted
                where
                    wanted.entity_attribute_id = done.entity_attribute_id and wanted.schema_id = done.schema_id
            )
    )
    insert into metl.warehouse_clearing (entity_attribute_id, schema_id, end_block)
    select
        wanted.entity_attribute_id, wanted.schema_id,
        pg_relation_size(_relation) / current_setting('block_size')::bigint
    from wanted
    on conflict on constraint warehouse_clearing_pk do nothing;
    update metl.warehouse_table as made set described = metl.current_state() where made.entity_id = _made.entity_id;
end $$;
comment on function metl._describe_warehouse(text) is
'Brings what the table of an entity says of its columns, and which of them are to be cleared, to the current state.';

create or replace function metl._warehouse_clear(entity_id int) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- 8 MB: a second or so.
    _step constant bigint := 1024;
    _due record;
begin
    select clearing.*, made.name as relation, known.name, s.name as schema into _due
    from metl.warehouse_clearing as clearing
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.warehouse_table as made on known.entity_id = made.entity_id
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    where made.entity_id = _warehouse_clear.entity_id and clearing.next_block < clearing.end_block
    order by clearing.entity_attribute_id, clearing.schema_id
    limit 1;
    if not found then
        return 0;
    end if;
    -- Page by page, since rows that are changed meanwhile, and go elsewhere, are merged without the value.
    execute format(
        'update warehouse.%1$I set %2$I = null, _kept = nullif(_kept - %2$L, ''{}'') '
        'where ctid >= %3$L::tid and ctid < %4$L::tid and _schema = %5$L and %2$I is not null',
        _due.relation, _due.name, format('(%s,0)', _due.next_block), format('(%s,0)', _due.next_block + _step), _due.schema
    );
    update metl.warehouse_clearing as clearing set next_block = clearing.next_block + _step
    where clearing.entity_attribute_id = _due.entity_attribute_id and clearing.schema_id = _due.schema_id;
    return (
        select coalesce(sum(clearing.end_block - clearing.next_block), 0)
        from metl.warehouse_clearing as clearing
        inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
        where known.entity_id = _warehouse_clear.entity_id and clearing.next_block < clearing.end_block
    );
end $$;
comment on function metl._warehouse_clear(int) is
'Clears the next part of what is to be cleared in the table of an entity; how many pages are left.';

create or replace function metl._warehouse_cleared(entity text, schema text) returns text[]
language sql stable
as $$
    select coalesce(array_agg(known.name), '{}')
    from metl.warehouse_clearing as clearing
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.entity as e on known.entity_id = e.entity_id
    where s.name = _warehouse_cleared.schema and e.name = _warehouse_cleared.entity
$$;
comment on function metl._warehouse_cleared(text, text) is
'The columns that are null in rows of a schema, whatever older versions of it bring.';
-- sql/private/merge_statements.sql
create or replace function metl._warehouse_statements(
    staged text, entity text, op text, state bigint, schema text, version int,
    out kept text, out older text, out newer text, out fresh text, out is_whole boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _table text;
    _all text[];
    _cells text[] := '{}';
    _made text[] := '{}';
    _attributes text[] := '{}';
    _declared text;
    -- Columns that a record of this kind leaves as they are.
    _left text[] := '{}';
    _cleared constant text[] := metl._warehouse_cleared(entity, schema);
    _kept text;
    _select text;
begin
    select made.name, array_agg(distinct known.name) filter (where not known.retired or op = 'd') into strict _table, _all
    from metl.warehouse_table as made
    inner join metl.entity as named using (entity_id)
    left join metl.warehouse_column as known using (entity_id)
    where named.name = _warehouse_statements.entity
    group by made.name;
    _all := coalesce(_all, '{}');
    if op <> 'd' then
        select
            coalesce(array_agg(cell.name order by cell.name), '{}'),
            coalesce(array_agg(metl._wire_value(read.value, cell.source_type, cell.type, cell.target) order by cell.name), '{}'),
            coalesce(array_agg(cell.attribute order by cell.name), '{}'),
            string_agg(read.declared, ', ' order by cell.name)
        into _cells, _made, _attributes, _declared
        from metl._warehouse_cells(entity, state, schema, version) as cell
        cross join lateral metl._warehouse_read(cell.attribute, cell.source_type, cell.type, cell.target) as read
        where cell.name <> all(_cleared);
    end if;
    if op = 'u' then
        _left := array(
            select unnest(metl._warehouse_brought(entity, schema)) except select unnest(_cells || _cleared) order by 1
        );
    end if;
    is_whole := _left = '{}';
    kept := format('select exists (select from warehouse.%I where _kept is not null)', _table);
    -- What the record does not bring, as far as is known of it: nothing was ever brought before.
    _kept := case
        when op = 'd' then 'null::jsonb'
        else format(
            '(select jsonb_object_agg(left_out.name, ''[-1, 0]''::jsonb) from (select unnest(%L::text[]) as name union select known.name '
            'from unnest(%L::text[], %L::text[]) as known (name, attribute) where work.unavailable::jsonb ? known.attribute) '
            'as left_out)', _left, _cells, _attributes
        )
    end;
    if op <> 'd' and is_whole then
        _kept := format('case when work.unavailable is not null then %s end', _kept);
    end if;
    _select := format(
        'select work.source as _source, case when work.key <> ''null'' then work.key::jsonb else '
        'jsonb_build_object(''partition'', work.partition::int, ''offset'', work."offset"::bigint) end as _key, '
        'work.partition::int as _partition, work."offset"::bigint as _offset, coalesce(work.at::bigint, 0) as _at, '
        '%L::boolean as _deleted, work.state::bigint as _state, work.schema as _schema, work.version::int as _version, '
        '%s as _kept%s from warehouse.%I as work%s where work.entity = $1 and work.op = any($2) and work.round = $3 '
        'and ($4 is null or concat_ws('' '', work.state, work.version, work.schema) = any($4)) and ($5 is null or work.id = $5)',
        op = 'd', _kept,
        (select string_agg(
            format(
                ', %s as %I',
                coalesce(_made[array_position(_cells, name)], format('(null::warehouse.%I).%I', _table, name)), name
            ), '' order by name
        ) from unnest(_all) as name),
        staged,
        case when _declared is not null then format(' cross join lateral json_to_record(work.after::json) as read (%s)', _declared) else '' end
    );
    fresh := format(
        'insert into warehouse.%I (_source, _key, _partition, _offset, _at, _deleted, _state, _schema, _version, _kept%s) %s',
        _table, (select string_agg(format(', %I', name), '' order by name) from unnest(_all) as name), _select
    );
    -- Nobody else writes to the table, so that a join finds out what is new: `on conflict` would ask its index twice.
    newer := format(
        'merge into warehouse.%1$I as old using (%3$s) as new on old._source = new._source and old._key = new._key '
        'when not matched then insert (_source, _key, _partition, _offset, _at, _deleted, _state, _schema, _version, '
        '_kept%2$s) values (new._source, new._key, new._partition, new._offset, new._at, new._deleted, new._state, '
        'new._schema, new._version, new._kept%5$s) '
        'when matched and case when new._partition = old._partition '
        'then (new._offset, new._state) > (old._offset, old._state) '
        'else (new._at, new._partition, new._offset) > (old._at, old._partition, old._offset) end '
        'then update set _partition = new._partition, _offset = new._offset, _at = new._at, _deleted = new._deleted, '
        '_state = new._state, _schema = new._schema, _version = new._version, _kept = case when new._kept is not null then '
        '(select jsonb_object_agg(name, case when old._kept ? name then old._kept -> name '
        'when old._partition <> new._partition then jsonb_build_array(-1, old._at) '
        'when old._offset = new._offset then ''[-1, 0]'' else jsonb_build_array(old._offset, old._state) end) '
        'from jsonb_object_keys(new._kept) as name) end%4$s',
        _table,
        (select string_agg(format(', %I', name), '' order by name) from unnest(_all) as name),
        _select,
        (select string_agg(
            format(
                ', %1$I = case when not coalesce(new._kept ? %2$L, false) then new.%1$I '
                'when old._offset <> new._offset or old._partition <> new._partition or old._kept ? %2$L then old.%1$I end',
                name, name
            ), '' order by name
        ) from unnest(_all) as name),
        (select string_agg(format(', new.%I', name), '' order by name) from unnest(_all) as name)
    );
    older := format(
        'update warehouse.%1$I as old set _kept = old._kept || coalesce((select jsonb_object_agg('
        'name, jsonb_build_array(new._offset, new._state)) from jsonb_object_keys(old._kept) as name where name = any(%2$L::text[]) '
        'and old._kept -> name < jsonb_build_array(new._offset, new._state) and not coalesce(new._kept ? name, false) '
        'and (old._kept -> name ->> 0 <> ''-1'' or new._at >= (old._kept -> name ->> 1)::bigint)), ''{}'')%3$s '
        'from (%4$s) as new where old._source = new._source and old._key = new._key and old._kept is not null '
        'and old._partition = new._partition and old._offset > new._offset',
        _table, _all,
        (select string_agg(
            format(
                ', %1$I = case when old._kept -> %2$L < jsonb_build_array(new._offset, new._state) '
                'and not coalesce(new._kept ? %2$L, false) '
                'and (old._kept -> %2$L ->> 0 <> ''-1'' or new._at >= (old._kept -> %2$L ->> 1)::bigint) '
                'then new.%1$I else old.%1$I end', name, name
            ), '' order by name
        ) from unnest(_all) as name),
        _select
    );
end $$;
comment on function metl._warehouse_statements(text, text, text, bigint, text, int) is
'SQL that merges records of one kind: one statement for those that are newer than their rows, and one for those that '
'are older and have what the newer ones did not bring, if there is such a row; and one for those that have no rows '
'yet. Whole are those that bring all.';
-- sql/private/merge_batch.sql
-- How the records of a batch become rows. Each step is one statement for all records that are alike; if it fails on a
-- value, it is done again record by record, and those that do not fit are rejected.
create or replace function metl._warehouse_alike(shapes jsonb) returns table (shape jsonb, ops text[], feeds text[])
language sql immutable
begin atomic
    select alike.shape, alike.ops, case when count(*) over (partition by alike.ops) > 1 then alike.feeds end
    from (
        select
            each.shape - 'feed' as shape,
            case each.shape ->> 'op' when 'u' then array['u', 'r'] else array[each.shape ->> 'op'] end as ops,
            array_agg(each.shape ->> 'feed') filter (where each.shape ->> 'feed' is not null) as feeds
        from jsonb_array_elements(shapes) as each (shape)
        group by 1, 2
    ) as alike;
end;
comment on function metl._warehouse_alike(jsonb) is
'Kinds of records that are merged in the same way, as one: they share a statement.';

create or replace function metl._warehouse_insert(staged text, entity text, shapes jsonb) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _alike record;
    _every constant bigint := null;
begin
    for _alike in select * from metl._warehouse_alike(shapes) loop
        execute _alike.shape ->> 'fresh' using entity, _alike.ops, 1, _alike.feeds, _every;
    end loop;
    return true;
-- Records that come again mostly do so from the first one on, so that little was done in vain.
exception when data_exception or cannot_coerce or program_limit_exceeded or unique_violation then
    return false;
end $$;
comment on function metl._warehouse_insert(text, text, jsonb) is
'Inserts all records of an entity as they are; false, and nothing is done, if there are two of a row, or one already, '
'or if a value does not fit.';

create or replace function metl._warehouse_apply(
    staged text, shape jsonb, entity text, ops text[], round int, feeds text[]
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
-- Rows are found by their key, whatever statistics say of a table that was empty a moment ago: to go through all of it
-- for each record, or to read a table of years for a batch of seconds, would never end.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_memoize = off
set enable_nestloop = on
as $$
declare
    _table constant text := format('warehouse.%I', shape ->> 'table');
    _rejected bigint := 0;
    _has_kept boolean;
    _every constant bigint := null;
    _id bigint;
begin
    execute shape ->> 'kept' into _has_kept;
    begin
        -- A table that is not much larger than the batch is read once, as a whole: that takes a quarter less.
        if pg_relation_size(_table) < 4 * pg_relation_size(format('warehouse.%I', staged)) then
            perform set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
                set_config('enable_nestloop', 'off', true);
        end if;
        if _has_kept then
            execute shape ->> 'older' using entity, ops, round, feeds, _every;
        end if;
        execute shape ->> 'newer' using entity, ops, round, feeds, _every;
        return 0;
    -- A key may come twice in two spellings.
    exception
        when data_exception or cannot_coerce or program_limit_exceeded or cardinality_violation or unique_violation then
            null;
    end;
    for _id in execute format(
        'select id from warehouse.%I as work where entity = $1 and op = any($2) and round = $3
         and ($4 is null or concat_ws('' '', work.state, work.version, work.schema) = any($4)) order by id', staged
    ) using entity, ops, round, feeds loop
        begin
            if _has_kept then
                execute shape ->> 'older' using entity, ops, round, feeds, _id;
            end if;
            execute shape ->> 'newer' using entity, ops, round, feeds, _id;
        exception when data_exception or cannot_coerce or program_limit_exceeded then
            _rejected := _rejected + metl._warehouse_reject(staged, format('work.id = %s', _id), sqlerrm);
        end;
    end loop;
    return _rejected;
end $$;
comment on function metl._warehouse_apply(text, jsonb, text, text[], int, text[]) is
'Merges the records of some kinds and a round, all at once if they all fit, and else one by one; how many do not.';
-- sql/private/shape_warehouse.sql
create or replace function metl._shape_warehouse(entity text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
    _id int;
    _version int;
    _known metl.warehouse_table;
begin
    select known.entity_id, version.version into _id, _version
    from metl.entity as known
    inner join metl.entity_version as version on known.entity_id = version.entity_id and version.deleted is null
    where known.name = _shape_warehouse.entity;
    if _id is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %L with a live version.', _shape_warehouse.entity),
            hint = 'Add one with metl.add_entity_version.';
    end if;
    select known.* into _known from metl.warehouse_table as known where known.entity_id = _id;
    if _known.entity_version = _version then
        perform metl._warehouse_check(entity);
        if _known.described is distinct from metl.current_state() then
            perform metl._describe_warehouse(entity);
        end if;
        return _known.name;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse', 0));
    if _known.name is null then
        perform metl._warehouse_make(entity);
    else
        perform metl._warehouse_check(entity);
        perform metl._warehouse_elevate(entity);
    end if;
    select known.* into _known from metl.warehouse_table as known where known.entity_id = _id;
    execute format(
        'comment on table warehouse.%I is %L', _known.name,
        format('Entity %s, version %s: a row for each key of each source.', entity, _version)
    );
    perform metl._describe_warehouse(entity);
    return _known.name;
end $$;
comment on function metl._shape_warehouse(text) is
'Makes the table of an entity in schema warehouse, or gives it the shape of the entity''s live version, and returns '
'its name. An error if it was altered by hand, or if values do not fit a column''s new type; then nothing has changed.';
-- sql/functions/clear_columns.sql
create or replace function metl.clear_columns(entity text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _entity_id int := metl._require_entity(entity);
begin
    if not exists (select from metl.warehouse_table as made where made.entity_id = _entity_id) then
        return 0;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    perform metl._shape_warehouse(entity);
    return metl._warehouse_clear(_entity_id);
end $$;
comment on function metl.clear_columns(text) is
'Clears a part of the values that rows of an entity still have in columns of policy clear that nothing feeds; '
'how many pages of its table are left. Each call is small, so that other work goes on; merges do the same.';
-- sql/functions/forget_warehouse_table.sql
create or replace function metl.forget_warehouse_table(entity text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
begin
    if not exists (select from metl.entity as named where named.name = forget_warehouse_table.entity) then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %s.', coalesce(quote_literal(left(entity, 60)), 'null')),
            hint = 'metl.warehouse_columns has the entities that have tables.';
    end if;
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = forget_warehouse_table.entity;
    if _known.name is not null and to_regclass(format('warehouse.%I', _known.name)) is not null then
        raise exception using
            errcode = 'object_in_use',
            message = format('Table warehouse.%I is still there.', _known.name),
            hint = 'Drop or rename it first: what is in it is yours.';
    end if;
    delete from metl.warehouse_clearing as clearing
    using metl.warehouse_column as known
    where clearing.entity_attribute_id = known.entity_attribute_id and known.entity_id = _known.entity_id;
    delete from metl.warehouse_column where entity_id = _known.entity_id;
    delete from metl.warehouse_truncate where entity_id = _known.entity_id;
    delete from metl.warehouse_table where entity_id = _known.entity_id;
end $$;
comment on function metl.forget_warehouse_table(text) is
'Lets the table of an entity, which somebody dropped, be made anew when its next record comes.';
-- sql/functions/forget_positions.sql
create or replace function metl.forget_positions(source text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _made record;
    _count bigint;
    _all bigint := 0;
begin
    for _made in
        select known.entity_id, known.name, named.name as entity
        from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
        order by named.name
    loop
        -- A batch is merged as a whole before or after.
        perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || _made.entity, 0));
        delete from metl.warehouse_truncate as known
        where known.entity_id = _made.entity_id and known.source = forget_positions.source;
        -- Somebody may have dropped it.
        continue when to_regclass(format('warehouse.%I', _made.name)) is null;
        -- No message is in this partition, so that times are compared, and none is older. Values stay as they are, for
        -- records that leave some out; from which offset they were means nothing now.
        execute format(
            'update warehouse.%I set _partition = -1, _offset = -1, _at = %s, _kept = null where _source = $1',
            _made.name, '(-9223372036854775808)'
        ) using source;
        get diagnostics _count = row_count;
        _all := _all + _count;
    end loop;
    -- The next record that is rejected may have the position of one of these, and would be taken for it.
    delete from warehouse._rejected as known where known.source = forget_positions.source;
    return _all;
end $$;
comment on function metl.forget_positions(text) is
'For a source topic that was deleted and made anew, so that its offsets begin again: makes its rows in all tables of '
'the warehouse older than any record, and forgets its truncates and rejected records; how many rows that were. Call it '
'when the warehouse has merged all that was sent before, and before the topic is mapped again.';
-- sql/functions/open_warehouse.sql
create or replace function metl.open_warehouse(job text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _staged constant text := metl._warehouse_work(job);
begin
    perform metl._require_job(job);
    if to_regclass(format('warehouse.%I', _staged)) is null then
        perform pg_advisory_xact_lock(hashtextextended('metl warehouse', 0));
        -- All as text: what does not fit is found when it is merged.
        execute format(
            'create unlogged table if not exists warehouse.%I (
                id bigint generated always as identity, entity text, source text, key text, partition text,
                "offset" text, at text, op text, after text, unavailable text, state text, schema text, version text,
                round int not null default 1
            ) with (autovacuum_enabled = off)', _staged
        );
        execute format('comment on table warehouse.%I is %L', _staged, format('A batch of job %s.', job));
        execute format('grant insert on warehouse.%I to metl_job', _staged);
    end if;
    execute format('drop index if exists warehouse.%I', _staged || '_by_entity');
    execute format('truncate warehouse.%I restart identity', _staged);
    return _staged;
end $$;
comment on function metl.open_warehouse(text) is
'Makes room for a batch of a job: an empty table in schema warehouse, whose name it returns, to copy records into. '
'metl.staged_entities and metl.merge_warehouse take them from there.';
-- sql/functions/staged_entities.sql
create or replace function metl.staged_entities(job text) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _staged constant text := metl._warehouse_work(job);
    _entities text[];
begin
    execute format('select array(select distinct entity from warehouse.%I order by entity)', _staged) into _entities;
    -- A few are found by going through all records, of many each would be looked for among those of all others.
    if cardinality(_entities) > 4 then
        execute format('create index if not exists %I on warehouse.%I (entity)', _staged || '_by_entity', _staged);
    end if;
    return query select unnest(_entities);
end $$;
comment on function metl.staged_entities(text) is
'The entities of the records that were copied into the table of metl.open_warehouse, to be merged one by one.';
-- sql/functions/merge_warehouse.sql
create or replace function metl.merge_warehouse(job text, entity text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set work_mem = '64MB'
-- Other entities are merged at the same time.
set max_parallel_workers_per_gather = 0
as $$
declare
    _staged constant text := metl._warehouse_work(job);
    _mine constant text := format('work.entity = %L and work.round > 0', entity);
    _made metl.warehouse_table;
    _kinds jsonb;
    _kind record;
    _shape record;
    _shapes jsonb := '[]';
    _rejected bigint := 0;
    _first int := 1;
    _rounds int;
begin
    -- Two jobs may have records of the same entity.
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    _kinds := metl._warehouse_survey(_staged, entity);
    -- The table of a batch does not survive a crash of the server: that it is empty does not mean that all is merged.
    if _kinds = '[]' then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('There are no records of entity %s in the batch of job %s.', entity, job),
            hint = 'Copy them into the table that metl.open_warehouse names.';
    end if;
    if _kinds @> '[{"fits": false}]' then
        _rejected := metl._warehouse_screen(_staged, entity);
        _kinds := metl._warehouse_survey(_staged, entity);
    end if;
    if not exists (
        select from metl.entity_versions as live where live.entity = merge_warehouse.entity and live.deleted is null
    ) then
        _rejected := _rejected + metl._warehouse_reject(_staged, _mine, 'The entity has no live version.');
        return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
    end if;
    perform metl._shape_warehouse(entity);
    select known.* into strict _made
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = merge_warehouse.entity;
    perform metl._warehouse_clear(_made.entity_id);
    if
        _kinds @> '[{"op": "t"}]'
        or exists (select from metl.warehouse_truncate as known where known.entity_id = _made.entity_id)
    then
        perform metl._warehouse_empty(_staged, entity, _made);
        _kinds := metl._warehouse_survey(_staged, entity);
    end if;

    for _kind in
        select distinct
            case kind.op when 'r' then 'u' else kind.op end as op,
            case when kind.op <> 'd' then kind.state end as state,
            case when kind.op <> 'd' then kind.schema end as schema,
            case when kind.op <> 'd' then kind.version end as version
        from jsonb_to_recordset(_kinds) as kind (op text, state text, schema text, version text)
        where kind.op <> 't'
    loop
        select * into _shape
        from metl._warehouse_statements(
            _staged, entity, _kind.op, _kind.state::bigint, _kind.schema, _kind.version::int
        );
        _shapes := _shapes || jsonb_build_object(
            'op', _kind.op, 'older', _shape.older, 'newer', _shape.newer, 'kept', _shape.kept, 'whole', _shape.is_whole,
            'fresh', _shape.fresh,
            'feed', case when _kind.op <> 'd' then concat_ws(' ', _kind.state, _kind.version, _kind.schema) end,
            'table', _made.name
        );
    end loop;

    -- Rows that were just made or read for the first time need no look for their older selves: a third less to do where
    -- there is most to do, at first loads.
    if
        not (_kinds @> '[{"op": "u"}]' or _kinds @> '[{"op": "d"}]')
        and metl._warehouse_insert(_staged, entity, _shapes)
    then
        return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
    end if;

    _rounds := metl._warehouse_arrange(_staged, entity, _shapes);
    while _rounds is not null loop
        for _round in _first .. _rounds loop
            for _shape in select * from metl._warehouse_alike(_shapes) loop
                _rejected := _rejected
                + metl._warehouse_apply(_staged, _shape.shape, entity, _shape.ops, _round, _shape.feeds);
            end loop;
        end loop;
        exit when _rejected = 0;
        _first := _rounds + 1;
        _rounds := metl._warehouse_recall(_staged, entity, _rounds);
    end loop;
    return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
end $$;
comment on function metl.merge_warehouse(text, text) is
'Merges the records of an entity that were copied into the table of metl.open_warehouse into the table of the entity, '
'and says how many were rejected. Records that come again change nothing, in whichever order.';
-- sql/functions/open_initial_load.sql
create or replace function metl.open_initial_load(entity text) returns table (entity_attribute text, column_name text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _table text;
begin
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    perform metl._shape_warehouse(entity);
    select known.name into strict _table
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = open_initial_load.entity;
    drop table if exists pg_temp.initial_load;
    execute format(
        'create temporary table initial_load as select _key%s from warehouse.%I with no data',
        (select string_agg(format(', %I', shape.name), '') from metl._warehouse_shape(entity) as shape), _table
    );
    execute format('grant insert on pg_temp.initial_load to %I', session_user);
    return query select shape.attribute, shape.name from metl._warehouse_shape(entity) as shape order by shape.place;
end $$;
comment on function metl.open_initial_load(text) is
'Makes room for rows of an entity that come from a table: pg_temp.initial_load, with the key and a column for each '
'attribute, whose names it returns. metl.merge_initial_load takes them from there.';
-- sql/functions/merge_initial_load.sql
create or replace function metl.merge_initial_load(
    entity text, source text, schema text, version int, at timestamptz, columns text[]
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _table text;
    -- In milliseconds, as messages say it: of those that are newer than the rows, and only of those, the rows give way.
    _at constant bigint := floor(extract(epoch from at) * 1000);
    _columns constant text[] := array(
        select name from unnest(columns) as name where name <> all(metl._warehouse_cleared(entity, schema))
    );
    _count bigint;
begin
    -- One that the caller has made might bring functions of the caller's along, which must not run with our rights.
    if not exists (
        select from pg_class as given
        where given.oid = to_regclass('pg_temp.initial_load') and given.relkind = 'r' and given.relowner = current_user::regrole
    ) then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = 'There are no rows to merge.',
            hint = 'Call metl.open_initial_load and copy them into pg_temp.initial_load, in the same session.';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    select known.name into strict _table
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = merge_initial_load.entity;
    execute format(
        'insert into warehouse.%1$I as old (_source, _key, _partition, _offset, _at, _deleted, _state, _schema, _version%2$s)
         select $1, _key, -1, $2, $2, false, $3, $5, $4%2$s from pg_temp.initial_load
         on conflict (_source, _key) do update set _partition = excluded._partition, _offset = excluded._offset,
            _at = excluded._at, _deleted = false, _state = excluded._state, _schema = excluded._schema,
            _version = excluded._version, _kept = null%3$s
         where excluded._at > old._at',
        _table,
        (select string_agg(format(', %I', name), '') from unnest(_columns) as name),
        (select string_agg(format(', %1$I = excluded.%1$I', name), '') from unnest(_columns) as name)
    ) using source, _at, metl.current_state(), version, schema;
    get diagnostics _count = row_count;
    drop table pg_temp.initial_load;
    return _count;
end $$;
comment on function metl.merge_initial_load(text, text, text, int, timestamptz, text[]) is
'Merges the rows of metl.open_initial_load, read at some time from the table of a schema version whose messages are in '
'a topic (the source), into the table of an entity; how many were new or newer. Columns are those that it feeds.';
-- sql/views/warehouse_columns.sql
create or replace view metl.warehouse_columns as
with owned as (
    select entity_id, name, max(entity_attribute_id) as entity_attribute_id
    from metl.warehouse_column
    group by entity_id, name
)

select
    named.name as entity,
    made.name as table_name,
    found.attname::text as column_name,
    pg_catalog.format_type(found.atttypid, found.atttypmod) as column_type,
    pg_catalog.col_description(found.attrelid, found.attnum) as description,
    owned.entity_attribute_id
from metl.warehouse_table as made
inner join metl.entity as named on made.entity_id = named.entity_id
inner join pg_catalog.pg_attribute as found
    on pg_catalog.to_regclass(pg_catalog.format('warehouse.%I', made.name)) = found.attrelid
left join owned on made.entity_id = owned.entity_id and found.attname = owned.name
where found.attnum > 0 and not found.attisdropped;
comment on view metl.warehouse_columns is 'The columns of the tables of schema warehouse.';
-- sql/comments.sql
-- A column name means the same in every public view, so that each is described once.
do $$
declare
    _column record;
    -- In parts: a function takes at most 100 arguments.
    _meaning constant jsonb := jsonb_build_object(
        'schema', 'Extraction schema: one table or event of a service.',
        'version',
        'Version of the extraction schema; in entity_versions and plans of what is named, '
        'in topics and topic_rules the one that plain messages are of, in dead_letters the one that was found, '
        'in registry_versions the one it became or is to become.',
        'attribute', 'Attribute of the schema version; null in a null block.',
        'entity', 'Business entity of the canonical data model.',
        'entity_version', 'Version of the entity.',
        'entity_attribute', 'Attribute of the entity version; null in a null block.',
        'position', 'Place of the attribute in its version, from 1; in registry_work that of the version in the registry.',
        'source_type', 'Type at the source, as it was given.',
        'type', 'Generalized type.',
        'optional', 'Whether the attribute may be missing.',
        'description', 'What the attribute means; in entity_versions and plans, what the entity means.',
        'renamed_from', 'Name of the same attribute in an earlier version.',
        'attribute_id', 'Identity of the attribute through the versions of its schema.',
        'entity_attribute_id', 'Identity of the attribute through the versions of its entity.',
        'is_live', 'Whether the version still is in the matrix.',
        'added', 'State in which the version came.',
        'deleted', 'State in which the version went; null while it is live.',
        'state',
        'State: in states the one described, in notices the one of the change, in plans the one it became, '
        'in jobs and job_batches the one that mapped, in dead_letters the one that could not.',
        'cause', 'Function that made the change.',
        'who', 'Who made the change, or did it.',
        'at', 'When the change was made.',
        'summary', 'What was changed, and how many cells were kept, lost and gained.',
        'kind',
        'In notices what happened to the block; in plans what is to be added; in schema_refs what the ref is; '
        'in operations what was done.',
        'lost', 'The cells that were lost, in plans would be, or are suggested when a name came back.',
        'likely_renames',
        'What looks like a rename that would spare such cells: attribute, renamed_to and a score from 0.5 to 1.',
        'renames', 'What it was confirmed with as renamed: {"old": "new"}.',
        'created_at', 'When it was made.',
        'created_by', 'Who made it.',
        'confirmed_at', 'When somebody took note of it.',
        'plan_id',
        'Number for metl.confirm_plan and metl.reject_plan; in registry_versions the plan as which, or behind which, it waits.',
        'name', 'Schema or entity that the plan is for.',
        'attributes', 'Attributes of the version to be added.',
        'decision', 'waiting, confirmed or rejected.',
        'decided_at', 'When it was decided.',
        'decided_by', 'Who decided it.',
        'refs', 'By what messages will name the version.',
        'ref', 'What messages carry to name the version.',
        'change', 'gained or lost.',
        'policy', 'auto, confirm or freeze; in column_policies keep or clear.',
        'set_by', 'Who set it.',
        'set_at', 'When it was set.'
    ) || jsonb_build_object(
        'topic', 'Topic of Kafka.',
        'pattern', 'Topic, or a pattern of topics in which * stands for any run of characters.',
        'format', 'What names the version of a message, as in metl.set_topic.',
        'payload', 'debezium (envelopes with before and after) or flat (the payload itself is the row).',
        'since', 'State in which it was set.',
        'job', 'Name of the job.',
        'table_name', 'Table of schema warehouse that the entity has.',
        'column_name', 'Column of it; those of METL begin with an underscore.',
        'column_type', 'Type of the column in PostgreSQL.',
        'checkpoint', 'Where the job keeps how far it has come; only one job may use it.',
        'instance', 'One run of the job, from its start to its end.',
        'about', 'What the job or the operation tells about itself; no secrets.',
        'status', 'What the job said last: starting, running, retrying, stopping, stopped, halted or failed. Of a dead letter: '
        'dead (it waits), sent (again, and has not come back since) or given_up. Of a connector: running, paused, stopped, '
        'restarting, unassigned, failed or unreachable.',
        'reason', 'Why it has this status, if it said why; of a dead letter why it could not be mapped the last time.',
        'running', 'Whether a session holds the lock of the job; a job that was killed keeps its status, but not its lock.',
        'started_at', 'When the current instance began.',
        'status_at', 'When the status was said.',
        'last_batch', 'Number of the batch that ended last.',
        'last_batch_at', 'When that batch ended.',
        'states_behind', 'How many states have come since the one that mapped the last batch.',
        'batch', 'Number of the batch.',
        'began_at', 'When the batch began.',
        'ended_at', 'When the batch ended.',
        'rows_in', 'Messages that came; in jobs to the current instance.',
        'rows_out', 'Messages that were sent; in jobs by the current instance.',
        'rows_filtered', 'Messages that map nothing, on purpose; in jobs those of the current instance.',
        'dead', 'Messages that became dead letters: in job_batches by reason, in jobs in all since the current instance began.',
        'dead_by_reason', 'The dead letters since the current instance began, by reason.',
        'rows_per_second', 'Messages that came in the last batch, for each second that it took.',
        'latency_ms', 'From the time in the message until it was sent, in milliseconds, of one in eight of those that came '
        'while the job ran: p50, p90, p99 and max; in jobs of the last batch in which such messages came.',
        'behind_ms', 'How long ago the newest message that the batch read had come, in milliseconds; in jobs null where '
        'nothing waits.',
        'rows_in_ever', 'Messages that came to any instance.',
        'rows_out_ever', 'Messages that were sent by any instance.',
        'rows_filtered_ever', 'Messages that map nothing, on purpose, of all instances.',
        'dead_ever', 'Messages that became dead letters in any instance.',
        'matrix_rows', 'Column sets that the batch held in memory.',
        'matrix_bytes', 'How large they were.',
        'lag', 'Messages that had come but were not read yet, when the batch ended.',
        'positions', 'What was read: {"topic": {"partition": [first offset, offset after the last]}}; '
        'the first is null where the partition is read for the first time.'
    ) || jsonb_build_object(
        'registry', 'Name under which METL knows the registry.',
        'registry_group', 'Group of the artifact in the registry; in registry_readings null for all.',
        'artifact', 'Artifact in the registry, or subject.',
        'registry_version', 'Version of the artifact, as the registry calls it.',
        'artifact_type', 'KCONNECT, JSON, AVRO or another type of the registry.',
        'global_id', 'Number that the registry gave to this version and no other.',
        'content_id', 'Number that the registry gave to the content, which several versions may have.',
        'confluent_id', 'Id of the schema in a Confluent registry.',
        'registry_state', 'State in the registry: ENABLED, DISABLED, DEPRECATED, DRAFT or SUNSET.',
        'outcome',
        'pending (its turn has not come), registered, waiting (as a plan), rejected, deleted (here, by somebody), unreadable, '
        'conflict (something else has that name or number), passed over (keys, drafts, heartbeats, entities of METL) or gone (from the registry); '
        'in operations what came of it, with what made it fail; null if it did not end or broke off.',
        'problem', 'Why it is unreadable or a conflict, or why the last try failed; of a connector what is wrong with it.',
        'created_on', 'When it was registered, by the clock of the registry.',
        'modified_on', 'When it was changed last, by the clock of the registry.',
        'seen_at', 'When it was seen first.',
        'gone_at', 'When it was found to be gone from the registry.',
        'entry', 'Number for metl.take_registry_version and metl.end_registry_version.',
        'task', 'take (for metl.take_registry_version) or end (for metl.end_registry_version).',
        'read_until', 'Moment up to which everything is known, by the clock of the registry.',
        'read_at', 'When that was found out.'
    ) || jsonb_build_object(
        'connector', 'Name of the connector on Kafka Connect.',
        'connect_url', 'Address of that Kafka Connect.',
        'prefix', 'What the names of its topics begin with.',
        'way_out', 'What mends the problem.',
        'tasks', 'Its tasks, with the state of each and the first cause of its failure.',
        'tables', 'Tables that it captures, as schema.table.',
        'slot', 'Replication slot that it reads, in the source database.',
        'behind_bytes', 'WAL that the source has written and the connector has not confirmed yet; null if nobody could look.',
        'wal_bytes', 'WAL that the source keeps because of the slot; null if nobody could look.',
        'last_event_at', 'When the newest message of its tables came into Kafka.',
        'reported_at', 'When somebody looked last.'
    ) || jsonb_build_object(
        'letter', 'Number of the dead letter.',
        'letters', 'How many dead letters.',
        'is_behind', 'Whether it is not the plan itself, but waits for its turn behind it.',
        'is_rejected', 'Whether its plan was rejected, and it was not taken up again (metl.retry_registry_versions).',
        'partition', 'Partition of the topic.',
        'message_offset', 'Offset of the message in its partition.',
        'message_at', 'Time in the message, if known.',
        'first_at', 'When the message became a dead letter for the first time.',
        'last_at', 'When it did for the last time.',
        'times', 'How often it was collected.',
        'replays', 'How often it was sent again.',
        'sent_at', 'When it was sent again last.',
        'operation', 'Number of the operation; in dead_letters of the one that did something to it last.',
        'key_bytes', 'Size of the key; null if there is none.',
        'value_bytes', 'Size of the value; null for a tombstone.',
        'is_purged', 'Whether the payload was purged: such a letter cannot be sent again.',
        'known_since', 'State that knows the version.',
        'next_offset', 'First offset that is not collected yet.',
        'why', 'Why it was done, as given.'
    );
begin
    for _column in
        select pg_class.oid::regclass as view, pg_attribute.attname as name
        from pg_class
        inner join pg_attribute on pg_class.oid = pg_attribute.attrelid
        where
            pg_class.relnamespace = 'metl'::regnamespace
            and pg_class.relkind = 'v'
            and pg_class.relname not like '\_%'
    loop
        execute format('comment on column %s.%I is %L', _column.view, _column.name, _meaning ->> _column.name);
    end loop;
end $$;

comment on column metl.type.type is 'The name of the generalized type.';
comment on column metl.type.description is 'What it stands for.';
comment on column metl.accepted_type.source_type is
'A type of extraction schemas, in lower case and without its length.';
comment on column metl.accepted_type.type is 'The generalized type that accepts it.';

comment on trigger block_insert_is_guarded on metl.block is 'Lets no insert leave a broken block behind.';
comment on trigger block_update_is_guarded on metl.block is 'Lets no update leave a broken block behind.';
comment on trigger block_move_is_guarded on metl.block is 'Lets no update leave a broken chain behind.';
comment on trigger block_delete_is_guarded on metl.block is 'Lets no delete leave a broken block behind.';
comment on trigger block_truncate_is_refused on metl.block is 'Old states are read from it.';
comment on trigger cell_truncate_is_refused on metl.cell is 'Old states are read from it.';
comment on trigger cell_insert_is_guarded on metl.cell is 'Lets no insert leave a broken block behind.';
comment on trigger cell_update_is_guarded on metl.cell is 'Lets no update leave a broken block behind.';
comment on trigger cell_move_is_guarded on metl.cell is 'Lets no update leave a broken block behind.';
comment on trigger cell_delete_is_guarded on metl.cell is 'Lets no delete leave a broken block behind.';

comment on constraint clock_has_one_row on metl.clock is 'There is one current state, and one lock.';
comment on constraint state_is_positive on metl.state is 'State 0 is the empty matrix, which nobody made.';
comment on constraint schema_version_is_positive on metl.schema_version is 'Registries count versions from 1.';
comment on constraint schema_version_lives_before_it_dies on metl.schema_version is
'Each change is a state of its own.';
comment on constraint entity_version_is_positive on metl.entity_version is 'Versions are counted from 1.';
comment on constraint entity_version_lives_before_it_dies on metl.entity_version is
'Each change is a state of its own.';
comment on constraint block_ends_after_it_begins on metl.block is 'A block that lived in no state would never be read.';
comment on constraint notice_kind on metl.notice is 'What Auto-Update, and reading registries, can have to tell.';
comment on constraint notice_lost_is_an_array on metl.notice is 'Cells, possibly none.';
comment on constraint policy_kind on metl.policy is
'auto does it, confirm asks before losing cells, freeze changes nothing.';
comment on constraint column_policy_kind on metl.column_policy is
'keep leaves values that nothing feeds any more as they are, clear makes them null.';
comment on constraint waiting_plan_kind on metl.waiting_plan is
'Versions that come may wait; a deletion is its own confirmation.';
comment on constraint waiting_plan_decision on metl.waiting_plan is 'Null while it waits.';
comment on constraint waiting_plan_is_decided_whole on metl.waiting_plan is 'A decision has its moment.';
comment on constraint schema_ref_kind on metl.schema_ref is
'What registries and converters put on the wire; a configured version needs no ref.';
comment on constraint schema_ref_ends_after_it_begins on metl.schema_ref is 'Each change is a state of its own.';
comment on constraint registry_version_outcome on metl.registry_version is
'taken is registered or waiting, as the trees and plans say; ended is gone from here as well.';
comment on constraint registry_version_ends_when_gone on metl.registry_version is
'Nothing ends here that is still in the registry.';
comment on constraint topic_rule_format on metl.topic_rule is 'What can be on the wire.';
comment on constraint topic_rule_payload on metl.topic_rule is 'Rows of tables come in envelopes, events do not.';
comment on constraint topic_rule_schema_is_of_one_topic on metl.topic_rule is
'Several topics do not carry the same schema by accident.';
comment on constraint topic_rule_version_is_of_plain on metl.topic_rule is
'Messages of the other formats name their version themselves.';
comment on constraint topic_rule_ends_after_it_begins on metl.topic_rule is 'Each change is a state of its own.';
comment on constraint job_about_is_an_object on metl.job is 'What a job tells about itself has names.';
comment on constraint job_status on metl.job is
'halted waits for somebody, failed broke off, stopped was told to; the others go on.';
comment on constraint connector_status on metl.connector is
'The states of Kafka Connect, the worst of connector and tasks, and unreachable where Connect does not answer.';
comment on constraint connector_tasks_is_an_array on metl.connector is 'A connector has any number of tasks.';
comment on constraint connector_problem_has_a_way_out on metl.connector is 'Nobody is left alone with a problem.';
comment on constraint operation_kind on metl.operation is 'What people do to streams.';
comment on constraint operation_says_why on metl.operation is 'Whoever finds the trace wants to know.';
comment on constraint operation_about_is_an_object on metl.operation is
'What an operation tells about itself has names.';
comment on constraint dead_letter_status on metl.dead_letter is
'Mappers say nothing of a letter that they mapped: sent is all that is known until it comes back.';
-- sql/grants.sql
-- Who may do what, as a matrix. Roles that do not exist are passed over: sql/cluster.sql makes them.
revoke all on schema metl from public;
revoke all on all tables in schema metl from public;
revoke all on all functions in schema metl from public;
revoke all on type
    metl._given_attribute, metl._known_attribute, metl._cell_fate, metl.planned_cell, metl._block_content,
    metl.registry_event, metl.mapping_line, metl._read_line
from public;

do $$
declare
    -- views and functions                                  reader  job  steward
    _access constant text[][] := array[
        ['view', 'schema_versions, schema_attributes, schema_refs', 'x', 'x', 'x'],
        ['view', 'entity_versions, entity_attributes',            'x', 'x', 'x'],
        ['view', 'decompaction, dusb, progressions',              'x', 'x', 'x'],
        ['view', 'states, schema_changes',                        'x', 'x', 'x'],
        ['view', 'topics, topic_rules, jobs, job_batches',        'x', 'x', 'x'],
        ['view', 'dead_letters, dead_letter_counts, due_letters', 'x', 'x', 'x'],
        ['view', 'dead_positions, operations, connectors',        'x', 'x', 'x'],
        ['view', 'registry_versions, registry_readings, registry_work', 'x', '', 'x'],
        ['view', 'notices, plans, waiting_versions, policies, column_policies', 'x', '', 'x'],
        ['view', 'type, accepted_type',                           'x', '',  'x'],
        ['call', 'current_state, decompaction_at, diff',          'x', 'x', 'x'],
        ['call', 'matrix_at, outdated',                           'x', 'x', 'x'],
        ['call', 'matrix_block, feeds, fed_by, search',           'x', 'x', 'x'],
        ['call', 'progression, coverage, policy_of, check',       'x', '',  'x'],
        ['call', 'simulate, plan_schema_version, plan_schema_version_end', 'x', '', 'x'],
        ['call', 'plan_entity_version, plan_entity_version_end, plan_block, plan_run', 'x', '', 'x'],
        ['call', 'draft_entity_version, check_mappings, plan_mappings, plan_renames', 'x', '', 'x'],
        ['call', 'cast_effect',                                   'x', 'x', 'x'],
        ['call', 'add_schema_version, delete_schema_version, set_refs', '',  '',  'x'],
        ['call', 'add_entity_version, delete_entity_version',     '',  '',  'x'],
        ['call', 'set_block, set_run, set_blocks, set_policy',    '',  '',  'x'],
        ['call', 'set_mappings, set_column_policy, clear_columns', '',  '',  'x'],
        ['call', 'confirm_plan, reject_plan, confirm_notices',    '',  '',  'x'],
        ['call', 'note_registry_versions, take_registry_version', '',  '',  'x'],
        ['call', 'end_registry_version, retry_registry_versions', '',  '',  'x'],
        ['call', 'set_topic, unset_topic',                        '',  '',  'x'],
        ['call', 'start_job, begin_batch, report_job, record_batch', '', 'x', ''],
        ['call', 'stop_job',                                      '',  'x', 'x'],
        ['view', 'warehouse_columns',                             'x', 'x', 'x'],
        ['call', 'open_warehouse, staged_entities, merge_warehouse', '', 'x', ''],
        ['call', 'open_initial_load, merge_initial_load',         '',  'x', 'x'],
        ['call', 'forget_warehouse_table, forget_positions',      '',  '',  'x'],
        ['call', 'begin_operation, end_operation',                '',  'x', 'x'],
        ['call', 'report_connectors',                             '',  'x', 'x'],
        ['call', 'collect_letters, send_due_letters',             '',  'x', ''],
        -- Payloads are business data.
        ['call', 'letter_payload, send_letters, give_up_letters', '',  '',  'x']
    ];
    _roles constant text[] := array['metl_reader', 'metl_job', 'metl_steward'];
    _line text[];
    _object text;
begin
    for _column in 1 .. cardinality(_roles) loop
        if not exists (select from pg_roles where rolname = _roles[_column]) then
            raise notice 'There is no role %: run sql/cluster.sql and then sql/grants.sql to let it in.', _roles[_column];
            continue;
        end if;
        -- What an older matrix gave is taken back first.
        execute format('revoke all on schema metl from %I', _roles[_column]);
        execute format('revoke all on all tables in schema metl from %I', _roles[_column]);
        execute format('revoke all on all sequences in schema metl from %I', _roles[_column]);
        execute format('revoke all on all functions in schema metl from %I', _roles[_column]);
        execute format('grant usage on schema metl, warehouse to %I', _roles[_column]);
        execute format('grant select on warehouse._rejected to %I', _roles[_column]);
        foreach _line slice 1 in array _access loop
            continue when _line[2 + _column] = '';
            foreach _object in array string_to_array(_line[2], ', ') loop
                if _line[1] = 'view' then
                    execute format('grant select on metl.%I to %I', _object, _roles[_column]);
                else
                    -- Under one name there may be several functions.
                    execute (
                        select string_agg(format('grant execute on function %s to %I;', oid::regprocedure, _roles[_column]), '')
                        from pg_proc
                        where pronamespace = 'metl'::regnamespace and proname = _object
                    );
                end if;
            end loop;
        end loop;
    end loop;
end $$;
