create table metl.type (
    type text constraint type_pk primary key,
    description text not null
);

create table metl.accepted_type (
    source_type text constraint accepted_type_pk primary key,
    type text not null constraint accepted_type_of references metl.type
);

-- Extraction schemas ---------------------------------------------------------------------------
create table metl.schema (
    schema_id int generated always as identity constraint schema_pk primary key,
    name text not null constraint schema_name_is_unique unique
);

create table metl.schema_version (
    schema_id int constraint schema_version_of references metl.schema,
    version int constraint schema_version_is_positive check (version > 0),
    added bigint not null constraint schema_version_added_by references metl.state,
    deleted bigint constraint schema_version_deleted_by references metl.state,
    constraint schema_version_pk primary key (schema_id, version),
    constraint schema_version_lives_before_it_dies check (deleted > added)
);

-- An attribute that stays the same through versions, whatever its name, is one row here.
create table metl.attribute (
    attribute_id bigint generated always as identity constraint attribute_pk primary key,
    schema_id int not null constraint attribute_of references metl.schema,
    type text not null constraint attribute_type references metl.type
);

create table metl.attribute_version (
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

-- Entities of the canonical data model -----------------------------------------------------------
create table metl.entity (
    entity_id int generated always as identity constraint entity_pk primary key,
    name text not null constraint entity_name_is_unique unique
);

create table metl.entity_version (
    entity_id int constraint entity_version_of references metl.entity,
    version int constraint entity_version_is_positive check (version > 0),
    added bigint not null constraint entity_version_added_by references metl.state,
    deleted bigint constraint entity_version_deleted_by references metl.state,
    constraint entity_version_pk primary key (entity_id, version),
    constraint entity_version_lives_before_it_dies check (deleted > added)
);
-- A schema version maps to one version of an entity because there is only one to map to.
create unique index entity_has_one_live_version on metl.entity_version (entity_id) where deleted is null;

create table metl.entity_attribute (
    entity_attribute_id bigint generated always as identity constraint entity_attribute_pk primary key,
    entity_id int not null constraint entity_attribute_of references metl.entity,
    type text not null constraint entity_attribute_type references metl.type
);

create table metl.entity_attribute_version (
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
