create or replace function metl.matrix_block(schema text, version int, entity text, entity_version int)
returns table (entity_attribute text, attribute text, value int)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select target.name, source.name, (one.attribute_id is not null)::int
    from metl.entity_attribute_version as target
    cross join metl.attribute_version as source
    left join metl._unnest_content(
        metl._effective_content(_schema_id, matrix_block.version, _entity_id, matrix_block.entity_version)
    ) as one on source.attribute_id = one.attribute_id and target.entity_attribute_id = one.entity_attribute_id
    where
        target.entity_id = _entity_id
        and target.version = matrix_block.entity_version
        and source.schema_id = _schema_id
        and source.version = matrix_block.version
    order by target.position, source.position;
end $$;
comment on function metl.matrix_block(text, int, text, int) is
'The full block of zeros and ones between a schema version and an entity version.';
