create or replace function metl.search(part text)
returns table (
    found text, schema text, versions int[], attribute text, entity text, entity_version int, entity_attribute text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- Case does not matter, and nothing in it stands for anything else.
    _part constant text := lower(part);
begin
    -- Of each thing its counterparts, one row each; a thing that maps nothing is a row without one.
    return query
    select
        'schema', known.name, array_agg(distinct live.version order by live.version), null::text,
        one.entity, one.entity_version, null::text
    from metl.schema as known
    inner join metl.schema_version as live on known.schema_id = live.schema_id and live.deleted is null
    left join metl._ones as one on live.schema_id = one.schema_id and live.version = one.version
    where strpos(lower(known.name), _part) > 0
    group by known.name, one.entity, one.entity_version;
    return query
    select
        'attribute', owner.name, array_agg(known.version order by known.version), known.name,
        one.entity, one.entity_version, one.entity_attribute
    from metl.attribute_version as known
    inner join metl.schema as owner on known.schema_id = owner.schema_id
    inner join metl.schema_version as live
        on known.schema_id = live.schema_id and known.version = live.version and live.deleted is null
    left join metl._ones as one on known.attribute_id = one.attribute_id and known.version = one.version
    where strpos(lower(known.name), _part) > 0
    group by owner.name, known.name, one.entity, one.entity_version, one.entity_attribute;
    return query
    select
        'entity', one.schema, array_agg(distinct one.version order by one.version) filter (where one.version is not null),
        null::text, known.name, live.version, null::text
    from metl.entity as known
    inner join metl.entity_version as live on known.entity_id = live.entity_id and live.deleted is null
    left join metl._ones as one on live.entity_id = one.entity_id and live.version = one.entity_version
    where strpos(lower(known.name), _part) > 0
    group by known.name, live.version, one.schema;
    return query
    select
        'entity_attribute', one.schema,
        array_agg(one.version order by one.version) filter (where one.version is not null),
        one.attribute, owner.name, known.version, known.name
    from metl.entity_attribute_version as known
    inner join metl.entity as owner on known.entity_id = owner.entity_id
    inner join metl.entity_version as live
        on known.entity_id = live.entity_id and known.version = live.version and live.deleted is null
    left join metl._ones as one
        on known.entity_attribute_id = one.entity_attribute_id and known.version = one.entity_version
    where strpos(lower(known.name), _part) > 0
    group by owner.name, known.version, known.name, one.schema, one.attribute;
end $$;
comment on function metl.search(text) is
'Live schemas, attributes, entities and entity attributes by a part of their name, and what each maps to.';
