create or replace function metl._check_entity_table(entity text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
    _wrong text;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = _check_entity_table.entity;
    if to_regclass(format('warehouse.%I', _known.name)) is null then
        raise exception using
            errcode = 'undefined_table',
            message = format('Table warehouse.%I is gone: it was dropped or renamed by hand.', _known.name),
            hint = format(
                'Bring it back, or let it be made anew with select metl.forget_warehouse_table(%L) and load it again.', entity
            );
    end if;
    select string_agg(
        case
            when found.attname is null then format('column %I is missing', wanted.name)
            else format('column %I is %s instead of %s', wanted.name, format_type(found.atttypid, found.atttypmod), wanted.type)
        end, ', '
    ) into _wrong
    from (
        select own.name, own.type from metl._system_columns() as own
        union all
        select known.name, metl._column_type(identity.type)
        from metl.warehouse_column as known
        inner join metl.entity_attribute as identity using (entity_attribute_id)
        inner join metl.entity_attribute_version as live
            on known.entity_attribute_id = live.entity_attribute_id and live.version = _known.entity_version
        where known.entity_id = _known.entity_id
    ) as wanted
    left join pg_attribute as found
        on
            found.attrelid = format('warehouse.%I', _known.name)::regclass
            and found.attname = wanted.name and not found.attisdropped
    where found.attname is null or format_type(found.atttypid, found.atttypmod) <> wanted.type;
    if _wrong is not null then
        raise exception using
            errcode = 'datatype_mismatch',
            message = format('Table warehouse.%I was altered by hand: %s.', _known.name, _wrong),
            hint = format(
                'Alter it back, or let it be made anew: drop it, select metl.forget_warehouse_table(%L), load it again.', entity
            );
    end if;
end $$;
comment on function metl._check_entity_table(text) is 'Refuses a table that was altered by hand.';
