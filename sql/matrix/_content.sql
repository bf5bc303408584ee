create or replace function metl._content(block_id bigint) returns bigint[]
language sql stable
as $$
    select coalesce(array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id), '{}')
    from metl.cell
    where cell.block_id = _content.block_id
$$;
comment on function metl._content(bigint) is
'The cells of a stored block as pairs, in an order that makes blocks comparable.';

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

create or replace function metl._pairs(content bigint[]) returns table (attribute_id bigint, entity_attribute_id bigint)
language sql immutable
as $$ select content[pair][1], content[pair][2] from generate_subscripts(content, 1) as pair $$;
comment on function metl._pairs(bigint[]) is 'The contents of a block as rows.';
