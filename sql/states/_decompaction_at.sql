create or replace function metl._decompaction_at(state bigint, only_schema text default null)
returns table (
    schema text, version int, entity text, entity_version int, attribute text, entity_attribute text
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
-- One schema is found by an index, all of them are not.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    with run as (
        select
            block.block_id, block.entity_id, block.entity_version, block.version,
            lead(block.version) over (
                partition by block.schema_id, block.entity_id, block.entity_version order by block.version
            ) as next_version
        from metl.block
        where
            (only_schema is null or block.schema_id = (
                select named.schema_id from metl.schema as named where named.name = only_schema
            ))
            and block.since <= _decompaction_at.state
            and (block.until > _decompaction_at.state or block.until is null)
    )
    select schema.name, attribute.version, entity.name, run.entity_version, attribute.name, target.name
    from run
    inner join metl.cell on run.block_id = cell.block_id
    inner join metl.attribute_version as attribute
        on
            cell.attribute_id = attribute.attribute_id
            and attribute.version >= run.version
            and (attribute.version < run.next_version or run.next_version is null)
    inner join metl.schema_version as live
        on
            attribute.schema_id = live.schema_id
            and attribute.version = live.version
            and live.added <= _decompaction_at.state
            and (live.deleted > _decompaction_at.state or live.deleted is null)
    inner join metl.schema on attribute.schema_id = schema.schema_id
    inner join metl.entity on run.entity_id = entity.entity_id
    inner join metl.entity_attribute_version as target
        on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version;
end $$;
comment on function metl._decompaction_at(bigint, text) is
'Every 1 of the matrix as it was in a state, or those of one schema.';
