create or replace function metl.forget_warehouse_table(entity text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = forget_warehouse_table.entity;
    if to_regclass(format('warehouse.%I', _known.name)) is not null then
        raise exception using
            errcode = 'object_in_use',
            message = format('Table warehouse.%I is still there.', _known.name),
            hint = 'Drop or rename it first: what is in it is yours.';
    end if;
    delete from metl.warehouse_column where entity_id = _known.entity_id;
    delete from metl.warehouse_truncate where entity_id = _known.entity_id;
    delete from metl.warehouse_table where entity_id = _known.entity_id;
end $$;
comment on function metl.forget_warehouse_table(text) is
'Lets the table of an entity, which somebody dropped, be made anew when its next record comes.';
