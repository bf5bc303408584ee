create or replace function metl._content_at(schema_id int, version int, entity_id int, entity_version int)
returns bigint[]
language sql stable
as $$
    select coalesce((
        select metl._content(block.block_id)
        from metl.block
        where
            block.schema_id = _content_at.schema_id
            and block.entity_id = _content_at.entity_id
            and block.entity_version = _content_at.entity_version
            and block.version <= _content_at.version
            and block.until is null
        order by block.version desc
        limit 1
    ), '{}')
$$;
comment on function metl._content_at(int, int, int, int) is
'The cells of any block, stored or not: those of the run it lies in.';
