create or replace function metl._parse_mapping(
    schema_id int, version int, entity_id int, entity_version int, mapping jsonb
) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _bad record;
    _content bigint[];
begin
    if mapping is null or jsonb_typeof(mapping) <> 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The mapping is not an object: %s', coalesce(left(mapping::text, 100), 'null')),
            hint = 'Give {"entity attribute": "attribute", …}; {} maps nothing.';
    end if;
    select key, value into _bad from jsonb_each(mapping) where jsonb_typeof(value) <> 'string' limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The mapping gives %s for entity attribute %L, which is not the name of an attribute.',
                             left(_bad.value::text, 100), _bad.key),
            hint = 'Give {"entity attribute": "attribute", …}; leave out what is not mapped.';
    end if;
    select pair.key, known.entity_attribute_id into _bad
    from jsonb_each_text(mapping) as pair
    left join metl.entity_attribute_version as known
        on known.entity_id = _parse_mapping.entity_id and known.version = _parse_mapping.entity_version and known.name = pair.key
    where known.entity_attribute_id is null limit 1;
    if found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %L version %s has no attribute %L.',
                             (select e.name from metl.entity as e where e.entity_id = _parse_mapping.entity_id),
                             _parse_mapping.entity_version, _bad.key),
            hint = format('It has: %s.', (
                select string_agg(known.name, ', ' order by known.position) from metl.entity_attribute_version as known
                where known.entity_id = _parse_mapping.entity_id and known.version = _parse_mapping.entity_version
            ));
    end if;
    select pair.value as key into _bad
    from jsonb_each_text(mapping) as pair
    left join metl.attribute_version as known
        on known.schema_id = _parse_mapping.schema_id and known.version = _parse_mapping.version and known.name = pair.value
    where known.attribute_id is null limit 1;
    if found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Schema %L version %s has no attribute %L.',
                             (select s.name from metl.schema as s where s.schema_id = _parse_mapping.schema_id),
                             _parse_mapping.version, _bad.key),
            hint = format('It has: %s.', (
                select string_agg(known.name, ', ' order by known.position) from metl.attribute_version as known
                where known.schema_id = _parse_mapping.schema_id and known.version = _parse_mapping.version
            ));
    end if;
    select pair.value as key, string_agg(quote_literal(pair.key), ' and ' order by pair.key) as keys into _bad
    from jsonb_each_text(mapping) as pair group by pair.value having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'unique_violation',
            message = format('Attribute %L is mapped to %s.', _bad.key, _bad.keys),
            hint = 'A block is 1:1 both ways: map each attribute to one entity attribute.';
    end if;
    select array_agg(array[source.attribute_id, target.entity_attribute_id] order by source.attribute_id) into _content
    from jsonb_each_text(mapping) as pair
    inner join metl.entity_attribute_version as target
        on target.entity_id = _parse_mapping.entity_id and target.version = _parse_mapping.entity_version
        and target.name = pair.key
    inner join metl.attribute_version as source
        on source.schema_id = _parse_mapping.schema_id and source.version = _parse_mapping.version
        and source.name = pair.value;
    return coalesce(_content, '{}');
end $$;
comment on function metl._parse_mapping(int, int, int, int, jsonb) is
'Reads a mapping given as jsonb and refuses what is unknown or not 1:1.';
