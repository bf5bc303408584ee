create or replace function metl._move_blocks(state bigint, entity_id int, old_version int, new_version int) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform metl._write_blocks(_move_blocks.state, array(
        with old as (
            select block.schema_id, block.version, block.block_id
            from metl.block
            where
                block.entity_id = _move_blocks.entity_id
                and block.entity_version = _move_blocks.old_version
                and block.until is null
        ),
        carried as (
            select old.schema_id, old.version, coalesce((
                select array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id)
                from metl.cell
                inner join metl.entity_attribute_version as kept
                    on cell.entity_attribute_id = kept.entity_attribute_id and kept.version = _move_blocks.new_version
                where cell.block_id = old.block_id
            ), '{}') as content
            from old
        ),
        compared as (
            select
                carried.*,
                lag(carried.content, 1, '{}') over (partition by carried.schema_id order by carried.version) as before
            from carried
        )
        select (old.schema_id, old.version, _move_blocks.entity_id, _move_blocks.old_version, null)::metl._block_content
        from old
        union all
        select (
            compared.schema_id, compared.version, _move_blocks.entity_id, _move_blocks.new_version, compared.content
        )::metl._block_content
        from compared
        where compared.content is distinct from compared.before
    ));
end $$;
comment on function metl._move_blocks(bigint, int, int, int) is
'Moves every block of an entity version to the next one, as far as its attributes go on.';
