create or replace function metl._cleared_columns(entity text, schema text) returns text[]
language sql stable
as $$
    select coalesce(array_agg(known.name), '{}')
    from metl.warehouse_clearing as clearing
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.entity as e on known.entity_id = e.entity_id
    where s.name = _cleared_columns.schema and e.name = _cleared_columns.entity
$$;
comment on function metl._cleared_columns(text, text) is
'The columns that are null in rows of a schema, whatever older versions of it map.';
