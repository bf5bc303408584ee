create or replace function metl.forget_warehouse_table(entity text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
begin
    if not exists (select from metl.entity as named where named.name = forget_warehouse_table.entity) then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %s.', coalesce(quote_literal(left(entity, 60)), 'null')),
            hint = 'metl.warehouse_columns has the entities that have tables.';
    end if;
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = forget_warehouse_table.entity;
    if _known.name is not null and to_regclass(format('warehouse.%I', _known.name)) is not null then
        raise exception using
            errcode = 'object_in_use',
            message = format('Table warehouse.%I is still there.', _known.name),
            hint = 'Drop or rename it first: what is in it is yours.';
    end if;
    delete from metl.warehouse_clearing as clearing
    using metl.warehouse_column as known
    where clearing.entity_attribute_id = known.entity_attribute_id and known.entity_id = _known.entity_id;
    delete from metl.warehouse_column where entity_id = _known.entity_id;
    delete from metl.warehouse_truncate where entity_id = _known.entity_id;
    delete from metl.warehouse_table where entity_id = _known.entity_id;
end $$;
comment on function metl.forget_warehouse_table(text) is
'Lets the table of an entity, which was dropped, be created again when its next record comes.';
