create or replace function metl._has_same_attributes(schema text, version int, attributes jsonb) returns boolean
language sql stable
as $$
    select
        array(
            select (given.name, given.type)::text
            from unnest(metl._parse_attributes(format('schema %L version %s', schema, version), attributes)) as given
            order by given.name
        ) = array(
            select (known.name, identity.type)::text
            from metl.schema as s
            inner join metl.attribute_version as known on s.schema_id = known.schema_id
            inner join metl.attribute as identity on known.attribute_id = identity.attribute_id
            where s.name = _has_same_attributes.schema and known.version = _has_same_attributes.version
            order by known.name
        )
$$;
comment on function metl._has_same_attributes(text, int, jsonb) is
'Whether a schema version has just these attributes, of the same generalized types.';
