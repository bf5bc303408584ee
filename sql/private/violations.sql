create or replace function metl._violations(only_schemas int[] default null)
returns table (invariant text, schema text, version int, entity text, entity_version int, detail text)
language sql stable
as $$
    with stored as (
        select
            block.*, content.content,
            lag(content.content, 1, '{}') over chain as before,
            lead(block.version) over chain as next_version
        from metl.block
        cross join lateral metl._content(block.block_id) as content (content)
        where block.until is null and (only_schemas is null or block.schema_id = any(only_schemas))
        window chain as (partition by block.schema_id, block.entity_id, block.entity_version order by block.version)
    ),
    found as (
        select 'a stored block differs from the one before it' as invariant, stored.*, null::text as detail
        from stored
        where stored.content = stored.before and stored.content <> '{}'
        union all
        select 'a null block only ends a run', stored.*, null
        from stored
        where stored.content = '{}' and stored.before = '{}'
        union all
        select 'a stored block belongs to live versions', stored.*, null
        from stored
        where
            exists (
                select from metl.schema_version as v
                where v.schema_id = stored.schema_id and v.version = stored.version and v.deleted is not null
            )
            or exists (
                select from metl.entity_version as v
                where v.entity_id = stored.entity_id and v.version = stored.entity_version and v.deleted is not null
            )
        union all
        select 'a cell''s attribute is in every version of its run', stored.*, format('attribute %s, version %s', pair.attribute_id, v.version)
        from stored
        cross join lateral metl._pairs(stored.content) as pair
        inner join metl.schema_version as v
            on
                stored.schema_id = v.schema_id
                and v.version >= stored.version
                and (v.version < stored.next_version or stored.next_version is null)
                and v.deleted is null
        where not exists (
            select from metl.attribute_version as a
            where a.attribute_id = pair.attribute_id and a.schema_id = v.schema_id and a.version = v.version
        )
        union all
        select 'a cell''s entity attribute is in the entity version', stored.*, format('entity attribute %s', pair.entity_attribute_id)
        from stored
        cross join lateral metl._pairs(stored.content) as pair
        where not exists (
            select from metl.entity_attribute_version as a
            where
                a.entity_attribute_id = pair.entity_attribute_id
                and a.entity_id = stored.entity_id
                and a.version = stored.entity_version
        )
    )
    select found.invariant, schema.name, found.version, entity.name, found.entity_version, found.detail
    from found
    inner join metl.schema on found.schema_id = schema.schema_id
    inner join metl.entity on found.entity_id = entity.entity_id
$$;
comment on function metl._violations(int[]) is
'Every invariant of the stored blocks that does not hold, for some schemas or all.';
