-- Of any version of the schema: another record of the row may have them.
create or replace function metl._columns_of_schema(entity text, schema text) returns text[]
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
    where one.entity = _columns_of_schema.entity and one.schema = _columns_of_schema.schema
$$;
comment on function metl._columns_of_schema(text, text) is 'The columns that a schema has for an entity.';
