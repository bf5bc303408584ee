create or replace function metl._ensure_entity_table(entity text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
declare
    _id int;
    _version int;
    _known metl.warehouse_table;
begin
    select known.entity_id, version.version into _id, _version
    from metl.entity as known
    inner join metl.entity_version as version on known.entity_id = version.entity_id and version.deleted is null
    where known.name = _ensure_entity_table.entity;
    if _id is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %L with a live version.', _ensure_entity_table.entity),
            hint = 'Add one with metl.add_entity_version.';
    end if;
    select known.* into _known from metl.warehouse_table as known where known.entity_id = _id;
    if _known.entity_version = _version then
        perform metl._check_entity_table(entity);
        if _known.described is distinct from metl.current_state() then
            perform metl._refresh_columns(entity);
        end if;
        return _known.name;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse', 0));
    if _known.name is null then
        perform metl._create_entity_table(entity);
    else
        perform metl._check_entity_table(entity);
        perform metl._alter_entity_table(entity);
    end if;
    select known.* into _known from metl.warehouse_table as known where known.entity_id = _id;
    execute format(
        'comment on table warehouse.%I is %L', _known.name,
        format('Entity %s, version %s: a row for each key of each source.', entity, _version)
    );
    perform metl._refresh_columns(entity);
    return _known.name;
end $$;
comment on function metl._ensure_entity_table(text) is
'Makes the table of an entity in schema warehouse, or gives it the shape of the entity''s live version, and returns '
'its name. An error if it was altered by hand, or if values do not fit a column''s new type; then nothing has changed.';
