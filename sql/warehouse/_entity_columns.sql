-- The live attributes of an entity, with the columns they have or would have.
create or replace function metl._entity_columns(entity text)
returns table (entity_attribute_id bigint, attribute text, name text, type text, description text, place int)
language sql stable
as $$
    select
        attribute.entity_attribute_id,
        attribute.entity_attribute,
        metl._warehouse_identifier(attribute.entity_attribute),
        metl._column_type(attribute.type),
        attribute.description,
        attribute.position
    from metl.entity_attributes as attribute
    where attribute.entity = _entity_columns.entity and attribute.is_live
$$;
comment on function metl._entity_columns(text) is 'The columns that the live version of an entity asks for.';
