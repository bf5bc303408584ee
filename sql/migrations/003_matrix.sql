-- The DUSB: for each schema, entity and entity version, only the blocks that differ from the one
-- stored before, by ascending version. A block without cells is a null block: it ends a run.
-- Ended blocks stay, so that old states remain readable.
create table metl.block (
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
create unique index block_is_stored_once
on metl.block (schema_id, entity_id, entity_version, version) where until is null;
create index block_by_entity on metl.block (entity_id, entity_version) where until is null;

create table metl.cell (
    block_id bigint constraint cell_of references metl.block,
    attribute_id bigint constraint cell_from references metl.attribute,
    entity_attribute_id bigint not null constraint cell_to references metl.entity_attribute,
    -- A block is 1:1 both ways.
    constraint cell_pk primary key (block_id, attribute_id),
    constraint cell_entity_attribute_is_mapped_once unique (block_id, entity_attribute_id)
);
