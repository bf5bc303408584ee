-- Entities as tables. The tables themselves are in schema warehouse and made when their first record comes.
-- It may be there: whoever drops schema metl to begin anew keeps it.
create schema if not exists warehouse;

create table metl.warehouse_table (
    entity_id int constraint warehouse_table_pk primary key constraint warehouse_table_of references metl.entity,
    name text not null constraint warehouse_table_name_is_unique unique,
    entity_version int not null
);

create table metl.warehouse_column (
    entity_attribute_id bigint
    constraint warehouse_column_pk primary key
    constraint warehouse_column_of references metl.entity_attribute,
    entity_id int not null constraint warehouse_column_in references metl.warehouse_table,
    name text not null,
    retired boolean not null default false
);

create table metl.warehouse_truncate (
    entity_id int constraint warehouse_truncate_of references metl.warehouse_table,
    source text,
    partition int,
    "offset" bigint not null,
    at bigint not null,
    constraint warehouse_truncate_pk primary key (entity_id, source, partition)
);

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
