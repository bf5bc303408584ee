create or replace function metl._resolve_lines(lines metl.mapping_line[]) returns setof metl._read_line
language sql stable
as $$
    -- What names the block is looked up once for all of its lines.
    with block as materialized (
        select
            given.schema, given.version, given.entity, given.entity_version,
            metl._version_or_null(given.version) as version_number,
            metl._version_or_null(given.entity_version) as entity_version_number,
            array_agg(given.line) as lines,
            array_agg(given.attribute) as attributes,
            array_agg(given.entity_attribute) as entity_attributes
        from unnest(lines) as given
        group by given.schema, given.version, given.entity, given.entity_version
    )
    select
        given.line, block.schema, block.version, given.attribute,
        block.entity, block.entity_version, given.entity_attribute,
        source.schema_id, source_version.version, source_attribute.attribute_id,
        target.entity_id, target_version.version, target_attribute.entity_attribute_id,
        coalesce(given.attribute, '') = '' and coalesce(given.entity_attribute, '') = ''
    from block
    left join metl.schema as source on block.schema = source.name
    left join metl.schema_version as source_version
        on
            source.schema_id = source_version.schema_id
            and block.version_number = source_version.version
            and source_version.deleted is null
    left join metl.entity as target on block.entity = target.name
    left join metl.entity_version as target_version
        on
            target.entity_id = target_version.entity_id
            and block.entity_version_number = target_version.version
            and target_version.deleted is null
    cross join lateral unnest(block.lines, block.attributes, block.entity_attributes)
        as given (line, attribute, entity_attribute)
    left join metl.attribute_version as source_attribute
        on
            source_version.schema_id = source_attribute.schema_id
            and source_version.version = source_attribute.version
            and given.attribute = source_attribute.name
    left join metl.entity_attribute_version as target_attribute
        on
            target_version.entity_id = target_attribute.entity_id
            and target_version.version = target_attribute.version
            and given.entity_attribute = target_attribute.name
$$;
comment on function metl._resolve_lines(metl.mapping_line[]) is
'Lines with the ids of what they name; null where there is no such thing, or none that is live.';
