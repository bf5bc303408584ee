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
