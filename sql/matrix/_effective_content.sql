create or replace function metl._effective_content(schema_id int, version int, entity_id int, entity_version int)
returns bigint[]
language sql stable
as $$
    select coalesce((
        select metl._stored_content(block.block_id)
        from metl.block
        where
            block.schema_id = _effective_content.schema_id
            and block.entity_id = _effective_content.entity_id
            and block.entity_version = _effective_content.entity_version
            and block.version <= _effective_content.version
            and block.until is null
        order by block.version desc
        limit 1
    ), '{}')
$$;
comment on function metl._effective_content(int, int, int, int) is
'The cells of any block, stored or not: those of the run it lies in.';
