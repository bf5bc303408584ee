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
