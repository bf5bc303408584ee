-- Descriptions of entities, one for each version, as attributes have them.
alter table metl.entity_version add column description text;
-- A waiting plan keeps it until it is decided.
alter table metl.waiting_plan add column description text;

-- Versions are text, so that an error can name one that is no number, and its line.
create type metl.mapping_line as (
    line int, schema text, version text, attribute text,
    entity text, entity_version text, entity_attribute text
);
create type metl._read_line as (
    line int, schema text, version text, attribute text,
    entity text, entity_version text, entity_attribute text,
    schema_id int, live_version int, attribute_id bigint,
    entity_id int, live_entity_version int, entity_attribute_id bigint, is_empty boolean
);
