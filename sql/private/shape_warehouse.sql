create or replace function metl._shape_warehouse(entity text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
    _id int;
    _version int;
    _known metl.warehouse_table;
    _column record;
begin
    select known.entity_id, version.version into _id, _version
    from metl.entity as known
    inner join metl.entity_version as version on known.entity_id = version.entity_id and version.deleted is null
    where known.name = _shape_warehouse.entity;
    if _id is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %L with a live version.', _shape_warehouse.entity),
            hint = 'Add one with metl.add_entity_version.';
    end if;
    select known.* into _known from metl.warehouse_table as known where known.entity_id = _id;
    if _known.entity_version = _version then
        perform metl._warehouse_check(entity);
        return _known.name;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse', 0));
    if _known.name is null then
        perform metl._warehouse_make(entity);
    else
        perform metl._warehouse_check(entity);
        perform metl._warehouse_elevate(entity);
    end if;
    select known.* into _known from metl.warehouse_table as known where known.entity_id = _id;
    execute format(
        'comment on table warehouse.%I is %L', _known.name,
        format('Entity %s, version %s: a row for each key of each source.', entity, _version)
    );
    for _column in
        select own.name, own.description from metl._warehouse_own() as own
        union all
        select known.name, concat_ws(' ', 'Attribute ' || quote_ident(shape.attribute) || '.', shape.description)
        from metl._warehouse_shape(entity) as shape
        inner join metl.warehouse_column as known using (entity_attribute_id)
        union all
        select known.name, format('No longer part of the entity since version %s.', _version)
        from metl.warehouse_column as known
        where known.entity_id = _id and known.retired
    loop
        execute format('comment on column warehouse.%I.%I is %L', _known.name, _column.name, _column.description);
    end loop;
    return _known.name;
end $$;
comment on function metl._shape_warehouse(text) is
'Makes the table of an entity in schema warehouse, or gives it the shape of the entity''s live version, and returns '
'its name. An error if it was altered by hand, or if values do not fit a column''s new type; then nothing has changed.';
