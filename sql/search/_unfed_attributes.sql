create or replace function metl._unfed_attributes(entity_id int)
returns table (schema_id int, schema text, entity_attribute_id bigint, version int, state bigint)
language sql stable
as $$
    with once as (
        select distinct block.schema_id, cell.entity_attribute_id
        from metl.block
        inner join metl.cell on block.block_id = cell.block_id
        where block.entity_id = _unfed_attributes.entity_id
    ),
    live as (
        select attribute.entity_attribute_id
        from metl.entity_version as version
        inner join metl.entity_attribute_version as attribute
            on version.entity_id = attribute.entity_id and version.version = attribute.version
        where version.entity_id = _unfed_attributes.entity_id and version.deleted is null
    ),
    fed as (
        select one.schema_id, one.entity_attribute_id, max(one.version) as version
        from metl._ones as one
        where one.entity_id = _unfed_attributes.entity_id
        group by one.schema_id, one.entity_attribute_id
    )
    select once.schema_id, named.name, once.entity_attribute_id, since.version, coalesce(
        -- The version fed it until then, or never did; or the schema has no version any more.
        (
            select max(ended.until)
            from metl.block as ended
            inner join metl.cell on ended.block_id = cell.block_id
            where
                ended.schema_id = once.schema_id and ended.entity_id = _unfed_attributes.entity_id
                and ended.version = since.version and cell.entity_attribute_id = once.entity_attribute_id
        ),
        (
            select min(own.since) from metl.block as own
            where
                own.schema_id = once.schema_id and own.entity_id = _unfed_attributes.entity_id and own.version = since.version
        ),
        (
            select max(coalesce(gone.deleted, gone.added)) from metl.schema_version as gone
            where gone.schema_id = once.schema_id and (gone.version = since.version or since.version is null)
        )
    )
    from once
    inner join live on once.entity_attribute_id = live.entity_attribute_id
    inner join metl.schema as named on once.schema_id = named.schema_id
    left join fed on once.schema_id = fed.schema_id and once.entity_attribute_id = fed.entity_attribute_id
    cross join lateral (
        select min(after.version) as version from metl.schema_version as after
        where
            after.schema_id = once.schema_id and after.deleted is null and after.version > coalesce(fed.version, 0)
    ) as since
    where since.version is not null or fed.version is null
$$;
comment on function metl._unfed_attributes(int) is
'Which schemas fed an attribute of an entity once and do not in their newest version: since which version, null if '
'the schema has none any more, and since which state.';
