create or replace function metl._invariant_violations(only_schemas int[] default null, only_entities int[] default null)
returns table (invariant text, schema text, version int, entity text, entity_version int, detail text)
language sql stable
as $$
    with stored as (
        select
            block.*, content.content,
            lag(content.content, 1, '{}') over chain as before,
            lead(block.version) over chain as next_version
        from metl.block
        cross join lateral metl._stored_content(block.block_id) as content (content)
        where
            block.until is null
            and block.schema_id = any(coalesce(only_schemas, array(select s.schema_id from metl.schema as s)))
            and block.entity_id = any(coalesce(only_entities, array(select e.entity_id from metl.entity as e)))
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
        inner join metl.schema_version as source on stored.schema_id = source.schema_id and stored.version = source.version
        inner join metl.entity_version as target
            on stored.entity_id = target.entity_id and stored.entity_version = target.version
        where source.deleted is not null or target.deleted is not null
        union all
        select 'a cell''s attribute is in every version of its run', stored.*, format('attribute %s, version %s', cell.attribute_id, v.version)
        from stored
        cross join lateral metl._unnest_content(stored.content) as cell
        inner join metl.schema_version as v
            on
                stored.schema_id = v.schema_id
                and v.version >= stored.version
                and (v.version < stored.next_version or stored.next_version is null)
                and v.deleted is null
        left join metl.attribute_version as a
            on cell.attribute_id = a.attribute_id and v.version = a.version and v.schema_id = a.schema_id
        where a.attribute_id is null
        union all
        select 'a cell''s entity attribute is in the entity version', stored.*, format('entity attribute %s', cell.entity_attribute_id)
        from stored
        cross join lateral metl._unnest_content(stored.content) as cell
        left join metl.entity_attribute_version as a
            on
                cell.entity_attribute_id = a.entity_attribute_id
                and stored.entity_version = a.version
                and stored.entity_id = a.entity_id
        where a.entity_attribute_id is null
    )
    select found.invariant, schema.name, found.version, entity.name, found.entity_version, found.detail
    from found
    inner join metl.schema on found.schema_id = schema.schema_id
    inner join metl.entity on found.entity_id = entity.entity_id
$$;
comment on function metl._invariant_violations(int[], int[]) is
'Every invariant of the stored blocks that does not hold, for some schemas and entities or all.';
