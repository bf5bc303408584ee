-- sql/install.sql and all that it includes, as of the first commit that had them.
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
'What an update does to one cell: fate is kept, lost, gained or suggested, reason says why.';
comment on type metl._cell_fate is 'The same with the ids.';
comment on type metl._block_content is
'What one block is to contain: pairs {attribute_id, entity_attribute_id} by ascending attribute_id; '
'{} maps nothing, null is not stored.';

insert into metl.migration (number, name) values (6, 'row types') on conflict do nothing;
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
        'smallint', 'bigint', 'tinyint', 'mediumint', 'serial', 'bigserial', 'smallserial', 'year',
        'io.debezium.time.year'
    ]),
    ('decimal', array[
        'decimal', 'numeric', 'number', 'money', 'big_decimal',
        'org.apache.kafka.connect.data.decimal', 'io.debezium.data.variablescaledecimal'
    ]),
    ('float', array['float', 'float4', 'float8', 'float32', 'float64', 'double', 'double precision', 'real']),
    ('boolean', array['boolean', 'bool']),
    ('string', array[
        'string', 'text', 'varchar', 'character varying', 'char', 'character', 'bpchar', 'name', 'citext', 'enum',
        'xml', 'inet', 'cidr', 'macaddr', 'nvarchar', 'nchar', 'clob', 'tinytext', 'mediumtext', 'longtext',
        'io.debezium.data.enum', 'io.debezium.data.enumset', 'io.debezium.data.xml', 'io.debezium.data.ltree'
    ]),
    ('bytes', array[
        'bytes', 'bytea', 'binary', 'varbinary', 'blob', 'fixed', 'bit', 'varbit', 'bit varying',
        'io.debezium.data.bits'
    ]),
    ('date', array['date', 'io.debezium.time.date', 'org.apache.kafka.connect.data.date']),
    ('time', array[
        'time', 'timetz', 'time without time zone', 'time with time zone', 'time-millis', 'time-micros',
        'io.debezium.time.time', 'io.debezium.time.microtime', 'io.debezium.time.nanotime',
        'io.debezium.time.zonedtime', 'org.apache.kafka.connect.data.time'
    ]),
    ('timestamp', array[
        'timestamp', 'timestamptz', 'timestamp without time zone', 'timestamp with time zone', 'datetime', 'date-time',
        'timestamp-millis', 'timestamp-micros', 'io.debezium.time.timestamp', 'io.debezium.time.microtimestamp',
        'io.debezium.time.nanotimestamp', 'io.debezium.time.zonedtimestamp', 'org.apache.kafka.connect.data.timestamp'
    ]),
    ('interval', array[
        'interval', 'duration', 'io.debezium.time.microduration', 'io.debezium.time.interval'
    ]),
    ('uuid', array['uuid', 'io.debezium.data.uuid']),
    ('json', array['json', 'jsonb', 'io.debezium.data.json', 'hstore']),
    ('object', array['object', 'struct', 'record', 'map']),
    ('array', array['array', 'list']),
    ('geometry', array[
        'geometry', 'geography', 'point', 'io.debezium.data.geometry.geometry',
        'io.debezium.data.geometry.geography', 'io.debezium.data.geometry.point'
    ]),
    ('any', array['any'])
) as generalized (type, source_types)
cross join unnest(generalized.source_types) as source_type
on conflict do nothing;
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
    perform from metl.clock for update;
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
    if name is null or btrim(name) = '' then
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
-- sql/private/generalize.sql
create or replace function metl._generalize(source_type text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    -- numeric(10,2) is numeric, and case does not matter.
    select accepted_type.type
    from metl.accepted_type
    where accepted_type.source_type = lower(btrim(regexp_replace(_generalize.source_type, '\s*\(.*\)', '')))
$$;
comment on function metl._generalize(text) is 'The generalized type that accepts a type; null if none does.';
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
    if jsonb_array_length(attributes) = 0 then
        raise exception using
            errcode = 'invalid_parameter_value', message = format('%s has no attributes.', owner), hint = _shape;
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
            _position, _element ->> 'name', _element ->> 'type', metl._generalize(_element ->> 'type'),
            coalesce((_element ->> 'optional')::boolean, false), _element ->> 'description', _element ->> 'renamed_from'
        );
        if _one.type is null then
            raise exception using
                errcode = 'undefined_object',
                message = format('Attribute %s of %s has the unknown type %s.',
                                 _one.name, owner, coalesce(_one.source_type, 'null')),
                hint = 'metl.accepted_type has the types that are known. Add yours: '
                    'insert into metl.accepted_type (source_type, type) values (…, ''string'').';
        end if;
        _read := _read || _one;
    end loop;
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
            hint = 'metl.schema_versions lists the schemas that are known.';
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
            hint = 'metl.entity_versions lists the entities that are known.';
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
create or replace function metl._violations(only_schemas int[] default null)
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
        where block.until is null and (only_schemas is null or block.schema_id = any(only_schemas))
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
        where
            exists (
                select from metl.schema_version as v
                where v.schema_id = stored.schema_id and v.version = stored.version and v.deleted is not null
            )
            or exists (
                select from metl.entity_version as v
                where v.entity_id = stored.entity_id and v.version = stored.entity_version and v.deleted is not null
            )
        union all
        select 'a cell''s attribute is in every version of its run', stored.*, format('attribute %s, version %s', pair.attribute_id, v.version)
        from stored
        cross join lateral metl._pairs(stored.content) as pair
        inner join metl.schema_version as v
            on
                stored.schema_id = v.schema_id
                and v.version >= stored.version
                and (v.version < stored.next_version or stored.next_version is null)
                and v.deleted is null
        where not exists (
            select from metl.attribute_version as a
            where a.attribute_id = pair.attribute_id and a.schema_id = v.schema_id and a.version = v.version
        )
        union all
        select 'a cell''s entity attribute is in the entity version', stored.*, format('entity attribute %s', pair.entity_attribute_id)
        from stored
        cross join lateral metl._pairs(stored.content) as pair
        where not exists (
            select from metl.entity_attribute_version as a
            where
                a.entity_attribute_id = pair.entity_attribute_id
                and a.entity_id = stored.entity_id
                and a.version = stored.entity_version
        )
    )
    select found.invariant, schema.name, found.version, entity.name, found.entity_version, found.detail
    from found
    inner join metl.schema on found.schema_id = schema.schema_id
    inner join metl.entity on found.entity_id = entity.entity_id
$$;
comment on function metl._violations(int[]) is
'Every invariant of the stored blocks that does not hold, for some schemas or all.';
-- sql/private/guard.sql
create or replace function metl._guard_blocks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._refuse_violations(array(select distinct touched.schema_id from touched));
    return null;
end $$;
comment on function metl._guard_blocks() is 'Lets no statement leave a broken block behind.';

create or replace function metl._guard_cells() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._refuse_violations(array(
        select distinct block.schema_id
        from touched inner join metl.block on touched.block_id = block.block_id
    ));
    return null;
end $$;
comment on function metl._guard_cells() is 'Lets no statement leave a broken block behind.';

create or replace function metl._refuse_violations(schemas int[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _violation record;
begin
    select * into _violation from metl._violations(schemas) limit 1;
    if found then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = format('Schema %L version %s to entity %L version %s: %s.', _violation.schema, _violation.version,
                             _violation.entity, _violation.entity_version, _violation.invariant),
            detail = _violation.detail,
            hint = 'Change blocks with metl.set_block, which keeps the matrix whole.';
    end if;
end $$;
comment on function metl._refuse_violations(int[]) is 'An error if an invariant of the stored blocks does not hold.';

create or replace trigger block_insert_is_guarded after insert on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_update_is_guarded after update on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_delete_is_guarded after delete on metl.block
referencing old table as touched for each statement execute function metl._guard_blocks();
create or replace trigger cell_insert_is_guarded after insert on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_update_is_guarded after update on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
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
    select 'states have no gaps', null, null, null, null, format('%s states, the clock says %s', count(*), clock.state)
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
inner join metl.cell on run.block_id = cell.block_id
-- The run of a stored block reaches to the next stored one, the last run to the highest version.
cross join lateral (
    select coalesce(min(following.version), 2147483647) as version
    from metl.block as following
    where
        following.schema_id = run.schema_id
        and following.entity_id = run.entity_id
        and following.entity_version = run.entity_version
        and following.version > run.version
        and following.until is null
) as run_end
inner join metl.attribute_version as attribute
    on
        cell.attribute_id = attribute.attribute_id
        and attribute.version >= run.version
        and attribute.version < run_end.version
inner join metl.schema_version as live
    on attribute.schema_id = live.schema_id and attribute.version = live.version and live.deleted is null
inner join metl.schema on run.schema_id = schema.schema_id
inner join metl.entity on run.entity_id = entity.entity_id
inner join metl.entity_attribute_version as target
    on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version
where run.until is null;
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
select entity.name as entity, entity_version.version, entity_version.added, entity_version.deleted
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
-- sql/private/match_attributes.sql
create or replace function metl._claims(fresh metl._given_attribute[], lower_version metl._known_attribute[])
returns table (name text, previous_name text, id bigint, same_type boolean)
language sql immutable
as $$
    -- An explicit rename comes before the same name.
    select each.name, known.name, known.id, known.type = each.type
    from unnest(fresh) as each
    cross join lateral (
        select k.name, k.id, k.type
        from unnest(lower_version) as k
        where k.name in (each.renamed_from, each.name)
        order by (k.name = each.renamed_from) desc nulls last
        limit 1
    ) as known
$$;
comment on function metl._claims(metl._given_attribute[], metl._known_attribute[]) is
'Which attribute of the next lower version each new attribute continues, by rename or by name.';

create or replace function metl._match_attributes(
    owner text,
    fresh metl._given_attribute[],
    lower_version metl._known_attribute[],
    upper_version metl._known_attribute[]
) returns table (name text, id bigint, previous_name text, type_changed boolean)
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
        select distinct on (known.id) each.name, known.id
        from unnest(fresh) as each
        inner join unnest(upper_version) as known
            on each.type = known.type and each.name in (known.name, known.renamed_from)
        where
            not exists (select from below where below.name = each.name and below.same_type)
            and not exists (select from below where below.id = known.id and below.same_type)
        order by known.id, (each.name = known.name) desc
    )
    select
        each.name,
        coalesce(case when below.same_type then below.id end, above.id),
        below.previous_name,
        coalesce(not below.same_type, false)
    from unnest(fresh) as each
    left join below on each.name = below.name
    left join lateral (select above.id from above where above.name = each.name order by above.id limit 1) as above on true;
end $$;
comment on function metl._match_attributes(
    text, metl._given_attribute[], metl._known_attribute[], metl._known_attribute[]
) is
'Which attribute of its neighbours each attribute of a new version is equivalent to: its id, null if it is new.';
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
returns table (name text, id bigint, previous_name text, type_changed boolean)
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
returns table (name text, id bigint, previous_name text, type_changed boolean)
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
    state bigint, entity text, version int, fresh metl._given_attribute[]
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
        insert into metl.entity_version (entity_id, version, added)
        select _entity_id, _insert_entity_version.version, _insert_entity_version.state
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
comment on function metl._insert_entity_version(bigint, text, int, metl._given_attribute[]) is
'Writes an entity version and its attributes into the tree in place of the live one; returns the id of the entity.';
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
        select block.entity_id, block.entity_version, cell.attribute_id, cell.entity_attribute_id
        from (
            select distinct on (b.entity_id, b.entity_version) b.block_id, b.entity_id, b.entity_version
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
            case when kept.id is null or frozen.is_frozen then 'lost' else 'kept' end as fate,
            case
                when kept.id is not null and frozen.is_frozen then 'frozen'
                when kept.id is null and retyped.name is not null then 'type_changed'
                when kept.id is null then 'dropped'
            end as reason
        from previous
        inner join metl.attribute_version as old on previous.attribute_id = old.attribute_id and old.version = _before
        cross join lateral (
            select metl._policy(_schema_id, previous.entity_id) = 'freeze' as is_frozen
        ) as frozen
        left join matched as kept on previous.attribute_id = kept.id
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
        _column_plan.schema, entity.name, everything.attribute, target.name, everything.fate, everything.reason
    from everything
    inner join metl.entity on everything.entity_id = entity.entity_id
    inner join metl.entity_attribute_version as target
        on everything.entity_attribute_id = target.entity_attribute_id and everything.entity_version = target.version;
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
-- sql/private/block_plan.sql
create or replace function metl._block_plan(changes metl._block_content[]) returns setof metl._cell_fate
language sql stable
as $$
    select
        change.schema_id, change.version, change.entity_id, change.entity_version,
        cell.attribute_id, cell.entity_attribute_id,
        schema.name, entity.name, source.name, target.name,
        cell.fate, case cell.fate when 'lost' then 'edited' end
    from unnest(changes) as change
    cross join lateral (
        select
            coalesce(old.attribute_id, new.attribute_id) as attribute_id,
            coalesce(old.entity_attribute_id, new.entity_attribute_id) as entity_attribute_id,
            case when new.attribute_id is null then 'lost' when old.attribute_id is null then 'gained' else 'kept' end as fate
        from metl._pairs(
            metl._content_at(change.schema_id, change.version, change.entity_id, change.entity_version)
        ) as old
        full join metl._pairs(change.content) as new
            on old.attribute_id = new.attribute_id and old.entity_attribute_id = new.entity_attribute_id
    ) as cell
    inner join metl.schema on change.schema_id = schema.schema_id
    inner join metl.entity on change.entity_id = entity.entity_id
    inner join metl.attribute_version as source
        on cell.attribute_id = source.attribute_id and change.version = source.version
    inner join metl.entity_attribute_version as target
        on cell.entity_attribute_id = target.entity_attribute_id and change.entity_version = target.version
$$;
comment on function metl._block_plan(metl._block_content[]) is 'What edits do to the cells of their blocks.';
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
create or replace function metl._tell(state bigint, plan metl._cell_fate[], is_known boolean default false) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, confirmed_at, confirmed_by)
    select
        _tell.state, told.kind, told.schema, told.version, told.entity, told.entity_version, told.lost,
        case when is_known then clock_timestamp() end, case when is_known then session_user end
    from (
        select case when block.is_empty then 'vanished' else 'shrunk' end as kind, block.*
        from metl._lost_by_block(plan, array['dropped', 'edited']) as block
        union all
        select reason.reason, block.*
        from unnest(array['type_changed', 'frozen', 'came_back']) as reason (reason)
        cross join lateral metl._lost_by_block(plan, array[reason.reason]) as block
    ) as told
    order by told.schema, told.version, told.entity;
    if cardinality(plan) > 0 and not exists (select from unnest(plan) as cell where cell.fate <> 'kept') then
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
comment on function metl._tell(bigint, metl._cell_fate[], boolean) is
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
        not bool_or(cell.fate = 'kept')
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
        select from unnest(plan) as cell
        where
            cell.fate = 'lost' and cell.reason <> 'frozen'
            and metl._policy(cell.schema_id, cell.entity_id) = 'confirm'
    )
$$;
comment on function metl._must_wait(metl._cell_fate[]) is
'Whether an update would lose cells for which somebody wants to be asked.';

create or replace function metl._wait(
    kind text, name text, version int, attributes jsonb, plan metl._cell_fate[]
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan_id bigint;
    _state bigint := metl.current_state();
begin
    select waiting.plan_id into _plan_id from metl.waiting_plan as waiting
    where waiting.kind = _wait.kind and waiting.name = _wait.name and waiting.version = _wait.version
        and waiting.decision is null;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Version %s of %L waits for confirmation already, as plan %s.', version, name, _plan_id),
            hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id);
    end if;
    insert into metl.waiting_plan (kind, name, version, attributes)
    values (_wait.kind, _wait.name, _wait.version, _wait.attributes)
    returning plan_id into _plan_id;
    insert into metl.notice (state, kind, schema, version, entity, entity_version, lost)
    select _state, 'waiting', block.schema, block.version, block.entity, block.entity_version, block.lost
    from metl._lost_by_block(plan, array['dropped', 'type_changed']) as block;
    raise notice using
        message = format('Version %s of %L waits as plan %s, since it would lose cells.', version, name, _plan_id),
        hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id);
    return _state;
end $$;
comment on function metl._wait(text, text, int, jsonb, metl._cell_fate[]) is
'Keeps an update as a plan until somebody confirms or rejects it; no state is consumed.';
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
            hint = 'metl.plans lists those that wait.';
    end if;
    update metl.waiting_plan
    set decision = _decide.decision, decided_at = clock_timestamp(), decided_by = session_user
    where waiting_plan.plan_id = _decide.plan_id;
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where
        notice.kind = 'waiting' and notice.confirmed_at is null
        and case _plan.kind
            when 'schema_version' then (notice.schema, notice.version) = (_plan.name, _plan.version)
            else (notice.entity, notice.entity_version) = (_plan.name, _plan.version)
        end;
    return _plan;
end $$;
comment on function metl._decide(bigint, text) is 'Records who decided a waiting plan, and when.';
-- sql/views/notices.sql
create or replace view metl.notices as
select state, kind, schema, version, entity, entity_version, lost, created_at, confirmed_at
from metl.notice;
comment on view metl.notices is
'What Auto-Update has to tell: blocks that shrank, vanished or changed type, with the cells; names that came back.';
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
    state
from metl.waiting_plan;
comment on view metl.plans is 'Updates that waited or wait for somebody to confirm or reject them.';
-- sql/functions/confirm_notices.sql
create or replace function metl.confirm_notices(state bigint) returns int
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    with confirmed as (
        update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
        where notice.state = confirm_notices.state and notice.confirmed_at is null and notice.kind <> 'waiting'
        returning 1
    )
    select count(*)::int from confirmed
$$;
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
-- sql/functions/plan_schema_version_end.sql
create or replace function metl.plan_schema_version_end(schema text, version int)
returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._column_end(schema, version) as cell
$$;
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
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._row_end(entity, version) as cell
$$;
comment on function metl.plan_entity_version_end(text, int) is
'What deleting an entity version would do, without doing it.';
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
-- sql/functions/simulate.sql
create or replace function metl.simulate(schema text, attributes jsonb) returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select cell.*
    from metl.plan_schema_version(
        schema,
        coalesce((select max(v.version) from metl.schema_versions as v where v.schema = simulate.schema), 0) + 1,
        attributes
    ) as cell
    where cell.fate = 'lost'
$$;
comment on function metl.simulate(text, jsonb) is
'The cells that a draft of the next version would lose; no rows: it is safe. For the CI of whoever owns the schema.';
-- sql/private/add_schema_version.sql
create or replace function metl._add_schema_version(
    schema text, version int, attributes jsonb, is_confirmed boolean
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _fresh metl._given_attribute[];
    _used metl.schema_version;
    _plan metl._cell_fate[];
    _state bigint;
    _schema_id int;
begin
    perform metl._check_name('schema', schema);
    perform metl._lock();
    select v.* into _used
    from metl.schema_version as v inner join metl.schema as s using (schema_id)
    where s.name = _add_schema_version.schema and v.version = _add_schema_version.version;
    perform metl._require_new_version('schema', schema, version, _used.added, _used.deleted);
    _fresh := metl._read_attributes(format('schema %L version %s', schema, version), attributes);

    _plan := array(select planned from metl._column_plan(schema, version, _fresh) as planned);
    if not is_confirmed and metl._must_wait(_plan) then
        return metl._wait('schema_version', schema, version, attributes, _plan);
    end if;
    _state := metl._advance('add_schema_version', metl._summary(schema, version, null, null, _plan));
    _schema_id := metl._insert_schema_version(_state, schema, version, _fresh);
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
    perform metl._tell(_state, _plan);
    return _state;
end $$;
comment on function metl._add_schema_version(text, int, jsonb, boolean) is
'Adds a schema version and carries the blocks of the next lower live version over; waits if it must.';
-- sql/private/add_entity_version.sql
create or replace function metl._add_entity_version(
    entity text, version int, attributes jsonb, is_confirmed boolean
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
    select cell.schema into _frozen from unnest(_plan) as cell
    where metl._policy(cell.schema_id, cell.entity_id) = 'freeze' limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen, and a new version of the entity would end it.',
                             _frozen, entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''confirm'').', _frozen, entity);
    end if;
    if not is_confirmed and metl._must_wait(_plan) then
        return metl._wait('entity_version', entity, version, attributes, _plan);
    end if;
    _state := metl._advance('add_entity_version', metl._summary(null, null, entity, version, _plan));
    _entity_id := metl._insert_entity_version(_state, entity, version, _fresh);
    perform metl._elevate(_state, _entity_id, _live, version);
    perform metl._tell(_state, _plan);
    return _state;
end $$;
comment on function metl._add_entity_version(text, int, jsonb, boolean) is
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
-- security definer here and in every writer: stewards write through functions, never to tables.
create or replace function metl.add_schema_version(schema text, version int, attributes jsonb) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select metl._add_schema_version(schema, version, attributes, is_confirmed => false) $$;
comment on function metl.add_schema_version(text, int, jsonb) is
'Adds a version of an extraction schema with the mappings of the next lower live version; returns the new state.';
-- sql/functions/add_entity_version.sql
create or replace function metl.add_entity_version(entity text, version int, attributes jsonb) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
as $$ select metl._add_entity_version(entity, version, attributes, is_confirmed => false) $$;
comment on function metl.add_entity_version(text, int, jsonb) is
'Adds a version of an entity, which takes the place of the one before with its mappings; returns the new state.';
-- sql/functions/delete_schema_version.sql
create or replace function metl.delete_schema_version(schema text, version int) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
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
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'').', _frozen, entity);
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
-- sql/private/edit.sql
create or replace function metl._edit(cause text, summary jsonb, changes metl._block_content[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _frozen record;
    _plan metl._cell_fate[];
    _state bigint;
begin
    select s.name as schema, e.name as entity into _frozen
    from unnest(changes) as change
    inner join metl.schema as s on s.schema_id = change.schema_id
    inner join metl.entity as e on e.entity_id = change.entity_id
    where metl._policy(change.schema_id, change.entity_id) = 'freeze'
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen.', _frozen.schema, _frozen.entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'').',
                          _frozen.schema, _frozen.entity);
    end if;
    _plan := array(select planned from metl._block_plan(changes) as planned);
    _state := metl._advance(_edit.cause, metl._summary(null, null, null, null, _plan) || _edit.summary);
    perform metl._store(_state, changes);
    perform metl._tell(_state, _plan, is_known => true);
    return _state;
end $$;
comment on function metl._edit(text, jsonb, metl._block_content[]) is 'Sets blocks by hand, as one state.';
-- sql/functions/set_block.sql
create or replace function metl.set_block(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
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
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _entity_id int;
    _content bigint[];
    _run_end int;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _entity_id := metl._require_entity_version(entity, entity_version);
    _content := metl._read_mapping(_schema_id, version, _entity_id, entity_version, mapping);
    select min(block.version) into _run_end from metl.block
    where
        block.schema_id = _schema_id
        and block.entity_id = _entity_id
        and block.entity_version = set_run.entity_version
        and block.version > set_run.version
        and block.until is null;
    return metl._edit(
        'set_run',
        jsonb_build_object('schema', schema, 'version', version, 'entity', entity, 'entity_version', entity_version),
        array(
            select (_schema_id, v.version, _entity_id, set_run.entity_version, coalesce((
                select array_agg(array[pair.attribute_id, pair.entity_attribute_id] order by pair.attribute_id)
                from metl._pairs(_content) as pair
                inner join metl.attribute_version as present
                    on pair.attribute_id = present.attribute_id and present.version = v.version
            ), '{}'))::metl._block_content
            from metl.schema_version as v
            where
                v.schema_id = _schema_id
                and v.version >= set_run.version
                and (v.version < _run_end or _run_end is null)
                and v.deleted is null
        )
    );
end $$;
comment on function metl.set_run(text, int, text, int, jsonb) is
'Sets a block and all later ones of its run, as far as their attributes go on. Returns the new state.';
-- sql/functions/set_blocks.sql
create or replace function metl.set_blocks(blocks jsonb) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
    _schema_id int;
    _entity_id int;
    _changes metl._block_content[] := '{}';
    _message text;
    _hint text;
    _problems text[] := '{}';
    _shape constant text :=
        'Give [{"schema": "…", "version": 1, "entity": "…", "entity_version": 1, "mapping": {"entity attribute": "attribute"}}, …].';
begin
    perform metl._lock();
    if blocks is null or jsonb_typeof(blocks) <> 'array' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The blocks are not an array: %s', coalesce(left(blocks::text, 100), 'null')),
            hint = _shape;
    end if;
    for _each in
        select position, block.*
        from jsonb_array_elements(blocks) with ordinality as element (value, position)
        left join lateral jsonb_to_record(case jsonb_typeof(value) when 'object' then value else '{}' end)
            as block (schema text, version int, entity text, entity_version int, mapping jsonb) on true
    loop
        begin
            _schema_id := metl._require_schema_version(_each.schema, _each.version);
            _entity_id := metl._require_entity_version(_each.entity, _each.entity_version);
            _changes := _changes || (
                _schema_id, _each.version, _entity_id, _each.entity_version,
                metl._read_mapping(_schema_id, _each.version, _entity_id, _each.entity_version, _each.mapping)
            )::metl._block_content;
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
            hint = _shape;
    end if;
    return metl._edit('set_blocks', jsonb_build_object('blocks', cardinality(_changes)), _changes);
end $$;
comment on function metl.set_blocks(jsonb) is
'Sets many blocks as one state, all or nothing; an error lists every block that cannot be set.';
-- sql/functions/confirm_plan.sql
create or replace function metl.confirm_plan(plan_id bigint) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan metl.waiting_plan;
    _state bigint;
begin
    perform metl._lock();
    _plan := metl._decide(plan_id, 'confirmed');
    _state := case _plan.kind
        when 'schema_version' then metl._add_schema_version(_plan.name, _plan.version, _plan.attributes, true)
        else metl._add_entity_version(_plan.name, _plan.version, _plan.attributes, true)
    end;
    update metl.waiting_plan set state = _state where waiting_plan.plan_id = confirm_plan.plan_id;
    return _state;
end $$;
comment on function metl.confirm_plan(bigint) is 'Lets a waiting update happen; returns the new state.';
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
-- sql/views/states.sql
create or replace view metl.states as
select state, cause, who, at, summary
from metl.state;
comment on view metl.states is 'Every state: what caused it, by whom, when, and what it did.';
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
    return query
    with run as (
        select
            block.block_id, block.entity_id, block.entity_version, block.version,
            lead(block.version) over (
                partition by block.schema_id, block.entity_id, block.entity_version order by block.version
            ) as next_version
        from metl.block
        where
            block.since <= decompaction_at.state
            and (block.until > decompaction_at.state or block.until is null)
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
            and live.added <= decompaction_at.state
            and (live.deleted > decompaction_at.state or live.deleted is null)
    inner join metl.schema on attribute.schema_id = schema.schema_id
    inner join metl.entity on run.entity_id = entity.entity_id
    inner join metl.entity_attribute_version as target
        on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version;
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
-- sql/functions/feeds.sql
create or replace function metl.feeds(schema text, version int)
returns table (entity text, entity_version int, attribute text, entity_attribute text)
language sql stable
as $$
    select one.entity, one.entity_version, one.attribute, one.entity_attribute
    from metl.decompaction as one
    where one.schema = feeds.schema and one.version = feeds.version
$$;
comment on function metl.feeds(text, int) is 'What a schema version feeds: its column set.';
-- sql/functions/fed_by.sql
create or replace function metl.fed_by(entity text, entity_version int)
returns table (schema text, version int, attribute text, entity_attribute text)
language sql stable
as $$
    select one.schema, one.version, one.attribute, one.entity_attribute
    from metl.decompaction as one
    where one.entity = fed_by.entity and one.entity_version = fed_by.entity_version
$$;
comment on function metl.fed_by(text, int) is 'What feeds an entity version: the reverse search, its row set.';
-- sql/functions/progression.sql
create or replace function metl.progression(schema text)
returns table (version int, entity text, entity_version int, attribute text, entity_attribute text, change text)
language sql stable
as $$
    with live as (
        select v.version, lag(v.version) over (order by v.version) as previous
        from metl.schema_versions as v
        where v.schema = progression.schema and v.deleted is null
    ),
    one as (
        select d.version, d.entity, d.entity_version, d.attribute, d.entity_attribute, a.attribute_id
        from metl.decompaction as d
        inner join metl.schema_attributes as a using (schema, version, attribute)
        where d.schema = progression.schema
    )
    select live.version, now.entity, now.entity_version, now.attribute, now.entity_attribute, 'gained'
    from live
    inner join one as now on live.version = now.version
    where not exists (
        select from one as before
        where
            before.version = live.previous and before.entity = now.entity
            and before.attribute_id = now.attribute_id and before.entity_attribute = now.entity_attribute
    )
    union all
    select live.version, before.entity, before.entity_version, before.attribute, before.entity_attribute, 'lost'
    from live
    inner join one as before on live.previous = before.version
    where not exists (
        select from one as now
        where
            now.version = live.version and before.entity = now.entity
            and before.attribute_id = now.attribute_id and before.entity_attribute = now.entity_attribute
    )
    order by 1, 6, 2, 5
$$;
comment on function metl.progression(text) is
'How the mappings of a schema went through its live versions: the cells that each gained and lost.';
-- sql/functions/coverage.sql
create or replace function metl.coverage(entity text, entity_version int)
returns table (entity_attribute text, type text, sources int, schemas text[])
language sql stable
as $$
    select
        wanted.entity_attribute,
        wanted.type,
        count(distinct one.schema)::int,
        coalesce(array_agg(distinct one.schema) filter (where one.schema is not null), '{}')
    from metl.entity_attributes as wanted
    left join metl.decompaction as one using (entity, entity_version, entity_attribute)
    where wanted.entity = coverage.entity and wanted.entity_version = coverage.entity_version
    group by wanted.entity_attribute, wanted.type, wanted.position
    order by wanted.position
$$;
comment on function metl.coverage(text, int) is 'How many schemas feed each attribute of an entity version, and which.';
-- sql/grants.sql
reset client_min_messages;

-- Who may do what, as a matrix. Roles that do not exist are passed over: sql/cluster.sql makes them.
revoke all on schema metl from public;
revoke all on all tables in schema metl from public;
revoke all on all functions in schema metl from public;

do $$
declare
    -- views and functions                                  reader  job  steward
    _access constant text[][] := array[
        ['view', 'schema_versions, schema_attributes',            'x', 'x', 'x'],
        ['view', 'entity_versions, entity_attributes',            'x', 'x', 'x'],
        ['view', 'decompaction, dusb, states',                    'x', 'x', 'x'],
        ['view', 'notices, plans, policies, type, accepted_type', 'x', '',  'x'],
        ['call', 'current_state, decompaction_at, diff',          'x', 'x', 'x'],
        ['call', 'matrix_block, feeds, fed_by',                   'x', 'x', 'x'],
        ['call', 'progression, coverage, policy_of, check',       'x', '',  'x'],
        ['call', 'simulate, plan_schema_version, plan_schema_version_end', 'x', '', 'x'],
        ['call', 'plan_entity_version, plan_entity_version_end, plan_block', 'x', '', 'x'],
        ['call', 'add_schema_version, delete_schema_version',     '',  '',  'x'],
        ['call', 'add_entity_version, delete_entity_version',     '',  '',  'x'],
        ['call', 'set_block, set_run, set_blocks, set_policy',    '',  '',  'x'],
        ['call', 'confirm_plan, reject_plan, confirm_notices',    '',  '',  'x']
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
        execute format('grant usage on schema metl to %I', _roles[_column]);
        foreach _line slice 1 in array _access loop
            continue when _line[2 + _column] = '';
            foreach _object in array string_to_array(_line[2], ', ') loop
                if _line[1] = 'view' then
                    execute format('grant select on metl.%I to %I', _object, _roles[_column]);
                else
                    execute format('grant execute on function metl.%I to %I', _object, _roles[_column]);
                end if;
            end loop;
        end loop;
    end loop;
end $$;
