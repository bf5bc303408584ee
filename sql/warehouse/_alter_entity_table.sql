create or replace function metl._alter_entity_table(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
    _change record;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = _alter_entity_table.entity;
    -- Retired columns are renamed first, then those whose names change, through temporary names.
    for _change in
        select known.entity_attribute_id, known.name
        from metl.warehouse_column as known
        where
            known.entity_id = _known.entity_id and not known.retired
            and not exists (
                select from metl._entity_columns(entity) as wanted
                left join metl.warehouse_column as same on wanted.entity_attribute_id = same.entity_attribute_id
                where same.name = known.name or (same.name is null and wanted.name = known.name)
            )
    loop
        execute format(
            'alter table warehouse.%I rename column %I to %I',
            _known.name, _change.name, format('_old_%s_%s', _change.entity_attribute_id, substr(_change.name, 1, 20))
        );
        update metl.warehouse_column set retired = true, name = format('_old_%s_%s', _change.entity_attribute_id, substr(_change.name, 1, 20))
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    for _change in
        select known.entity_attribute_id, known.name, wanted.name as new_name
        from metl.warehouse_column as known
        inner join metl._entity_columns(entity) as wanted using (entity_attribute_id)
        where known.name <> wanted.name
    loop
        execute format('alter table warehouse.%I rename column %I to %I', _known.name, _change.name, '_new_' || _change.entity_attribute_id);
        update metl.warehouse_column set name = '_new_' || _change.entity_attribute_id
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    for _change in
        select known.entity_attribute_id, known.name, wanted.name as new_name
        from metl.warehouse_column as known
        inner join metl._entity_columns(entity) as wanted using (entity_attribute_id)
        where known.name <> wanted.name
    loop
        execute format('alter table warehouse.%I rename column %I to %I', _known.name, _change.name, _change.new_name);
        update metl.warehouse_column set name = _change.new_name
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    -- A name that stays with another identity has another type.
    for _change in
        select wanted.entity_attribute_id, wanted.name, wanted.type, known.name is not null as is_there
        from metl._entity_columns(entity) as wanted
        left join metl.warehouse_column as same on wanted.entity_attribute_id = same.entity_attribute_id
        left join lateral (
            select other.name from metl.warehouse_column as other
            where other.entity_id = _known.entity_id and other.name = wanted.name limit 1
        ) as known on true
        where same.name is null
        order by wanted.place
    loop
        if _change.is_there then
            perform metl._convert_column(_known.name, _change.name, _change.type);
        else
            execute format('alter table warehouse.%I add column %I %s', _known.name, _change.name, _change.type);
        end if;
        insert into metl.warehouse_column (entity_attribute_id, entity_id, name)
        values (_change.entity_attribute_id, _known.entity_id, _change.name);
    end loop;
    update metl.warehouse_table set entity_version = version.version
    from metl.entity_version as version
    where
        warehouse_table.entity_id = _known.entity_id
        and version.entity_id = _known.entity_id and version.deleted is null;
end $$;
comment on function metl._alter_entity_table(text) is
'Gives a table the shape of the live version of its entity. Columns are added, renamed and converted; those of '
'attributes that are gone are kept under a name that begins with _old_.';
