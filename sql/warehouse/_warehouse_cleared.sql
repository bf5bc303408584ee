create or replace function metl._warehouse_cleared(entity text, schema text) returns text[]
language sql stable
as $$
    select coalesce(array_agg(known.name), '{}')
    from metl.warehouse_clearing as clearing
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.entity as e on known.entity_id = e.entity_id
    where s.name = _warehouse_cleared.schema and e.name = _warehouse_cleared.entity
$$;
comment on function metl._warehouse_cleared(text, text) is
'The columns that are null in rows of a schema, whatever older versions of it bring.';
