-- A name that was mapped once, was dropped and comes back may mean something else now: it is suggested, never mapped
-- again by itself.
create or replace function metl._suggest_returned_attributes(schema_id int, before int, names text[])
returns table (entity_id int, entity_version int, entity_attribute_id bigint, attribute text)
language sql stable
as $$
    select distinct on (block.entity_id, cell.entity_attribute_id)
        block.entity_id, block.entity_version, cell.entity_attribute_id, former.name
    from metl.attribute_version as former
    inner join metl.schema_version as former_version
        on former.schema_id = former_version.schema_id
        and former.version = former_version.version
        and former_version.deleted is null
    inner join metl.cell on former.attribute_id = cell.attribute_id
    inner join metl.block on cell.block_id = block.block_id and block.until is null
    where
        former.schema_id = _suggest_returned_attributes.schema_id
        and former.version < _suggest_returned_attributes.before
        and former.name = any(_suggest_returned_attributes.names)
        and block.version = (
            select max(b.version) from metl.block as b
            where
                b.schema_id = former.schema_id and b.entity_id = block.entity_id
                and b.version <= former.version and b.until is null
        )
    order by block.entity_id, cell.entity_attribute_id, former.version desc
$$;
comment on function metl._suggest_returned_attributes(int, int, text[]) is
'The cells that attributes of these names had in the newest live version below `before` that had them.';
