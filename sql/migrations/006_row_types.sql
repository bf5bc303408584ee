-- Row types that functions hand to each other.
create type metl._given_attribute as (
    position int, name text, source_type text, type text,
    optional boolean, description text, renamed_from text
);
create type metl._known_attribute as (id bigint, name text, type text, renamed_from text);
create type metl._cell_fate as (
    schema_id int, version int, entity_id int, entity_version int,
    attribute_id bigint, entity_attribute_id bigint,
    schema text, entity text, attribute text, entity_attribute text,
    fate text, reason text
);
create type metl.planned_cell as (
    schema text, version int, entity text, entity_version int,
    attribute text, entity_attribute text, fate text, reason text
);
create type metl._block_content as (
    schema_id int, version int, entity_id int, entity_version int, content bigint[]  -- noqa: LT01
);
