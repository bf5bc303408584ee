create or replace function metl._schema_attributes(schema_id int, version int) returns metl._known_attribute[]
language sql stable
as $$
    select array_agg((known.attribute_id, known.name, identity.type, known.renamed_from)::metl._known_attribute)
    from metl.attribute_version as known
    inner join metl.attribute as identity on known.attribute_id = identity.attribute_id
    where known.schema_id = _schema_attributes.schema_id and known.version = _schema_attributes.version
$$;
comment on function metl._schema_attributes(int, int) is 'The attributes of a schema version, for matching.';
