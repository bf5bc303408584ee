create or replace function metl._write_blocks(state bigint, wanted metl._block_content[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    -- One statement, so that the constraints see the matrix only before and after it.
    with goal as (
        select * from unnest(_write_blocks.wanted)
    ),
    difference as (
        select goal.*, stored.block_id as stored_id
        from goal
        left join metl.block as stored
            on
                goal.schema_id = stored.schema_id
                and goal.version = stored.version
                and goal.entity_id = stored.entity_id
                and goal.entity_version = stored.entity_version
                and stored.until is null
        where goal.content is distinct from case when stored.block_id is not null then metl._stored_content(stored.block_id) end
    ),
    ended as (
        update metl.block set until = _write_blocks.state
        from difference
        where block.block_id = difference.stored_id
        returning block.block_id
    ),
    begun as (
        insert into metl.block (schema_id, version, entity_id, entity_version, since)
        select difference.schema_id, difference.version, difference.entity_id, difference.entity_version, _write_blocks.state
        from difference
        -- Old blocks make room first.
        where difference.content is not null and (select count(*) from ended) >= 0
        returning block_id, schema_id, version, entity_id, entity_version
    )
    insert into metl.cell (block_id, attribute_id, entity_attribute_id)
    select begun.block_id, difference.content[pair][1], difference.content[pair][2]
    from begun
    inner join difference using (schema_id, version, entity_id, entity_version)
    cross join lateral generate_subscripts(difference.content, 1) as pair;
end $$;
comment on function metl._write_blocks(bigint, metl._block_content[]) is
'Makes stored blocks what is wanted, touching only those that differ; null content removes one.';
