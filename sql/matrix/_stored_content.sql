create or replace function metl._stored_content(block_id bigint) returns bigint[]
language sql stable
as $$
    select coalesce(array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id), '{}')
    from metl.cell
    where cell.block_id = _stored_content.block_id
$$;
comment on function metl._stored_content(bigint) is
'The cells of a stored block as pairs, in an order that makes blocks comparable.';
