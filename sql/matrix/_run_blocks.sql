create or replace function metl._run_blocks(
    schema_id int, version int, entity_id int, entity_version int, content bigint[]
) returns metl._block_content[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _run_end int;
begin
    select min(block.version) into _run_end from metl.block
    where
        block.schema_id = _run_blocks.schema_id
        and block.entity_id = _run_blocks.entity_id
        and block.entity_version = _run_blocks.entity_version
        and block.version > _run_blocks.version
        and block.until is null;
    return array(
        select (_run_blocks.schema_id, v.version, _run_blocks.entity_id, _run_blocks.entity_version, coalesce((
            select array_agg(array[pair.attribute_id, pair.entity_attribute_id] order by pair.attribute_id)
            from metl._unnest_content(_run_blocks.content) as pair
            inner join metl.attribute_version as present
                on pair.attribute_id = present.attribute_id and present.version = v.version
        ), '{}'))::metl._block_content
        from metl.schema_version as v
        where
            v.schema_id = _run_blocks.schema_id
            and v.version >= _run_blocks.version
            and (v.version < _run_end or _run_end is null)
            and v.deleted is null
    );
end $$;
comment on function metl._run_blocks(int, int, int, int, bigint[]) is
'A block and all later ones of its run, with a content as far as its attributes go on.';
