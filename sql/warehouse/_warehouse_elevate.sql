-- The columns that are not the entity's own.
create or replace function metl._warehouse_own() returns table (name text, type text, description text)
language sql immutable
as $$
    values
    ('_source', 'text', 'Topic that the row comes from: rows of two sources are never the same.'),
    ('_key', 'jsonb', 'Key of the row at its source; of a record without a key its position.'),
    ('_partition', 'integer', 'Partition of the last message about the row; -1 for a row that came by SQL, or whose position was forgotten.'),
    ('_offset', 'bigint', 'Offset of that message, by which newer is told from older; by SQL, its time.'),
    ('_at', 'bigint', 'ts_ms of that message, or when the row was read.'),
    ('_deleted', 'boolean', 'Whether the row is gone at its source: then it has no values.'),
    ('_state', 'bigint', 'State under which that message was mapped.'),
    ('_schema', 'text', 'Schema of that message.'),
    ('_version', 'integer', 'Version of that schema.'),
    ('_kept', 'jsonb', 'Columns that this message did not bring, each with offset and state of the one its value is from, or -1 and the time.')
$$;
comment on function metl._warehouse_own() is 'The columns that every table of the warehouse has beside the attributes.';

-- The live attributes of an entity, with the columns they have or would have.
create or replace function metl._warehouse_shape(entity text)
returns table (entity_attribute_id bigint, attribute text, name text, type text, description text, place int)
language sql stable
as $$
    select
        attribute.entity_attribute_id,
        attribute.entity_attribute,
        metl._warehouse_name(attribute.entity_attribute),
        metl._warehouse_type(attribute.type),
        attribute.description,
        attribute.position
    from metl.entity_attributes as attribute
    where attribute.entity = _warehouse_shape.entity and attribute.is_live
$$;
comment on function metl._warehouse_shape(text) is 'The columns that the live version of an entity asks for.';

create or replace function metl._warehouse_check(entity text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
    _wrong text;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = _warehouse_check.entity;
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
        select own.name, own.type from metl._warehouse_own() as own
        union all
        select known.name, metl._warehouse_type(identity.type)
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
comment on function metl._warehouse_check(text) is 'Refuses a table that somebody altered by hand.';

create or replace function metl._warehouse_make(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _name constant text := metl._warehouse_name(entity);
    _id int;
    _column record;
begin
    if to_regclass(format('warehouse.%I', _name)) is not null then
        raise exception using
            errcode = 'duplicate_table',
            message = format('There is a table warehouse.%I already, which METL did not make.', _name),
            hint = 'Rename or drop it: the table of the entity has this name.';
    end if;
    insert into metl.warehouse_table (entity_id, name, entity_version)
    select known.entity_id, _name, version.version
    from metl.entity as known inner join metl.entity_version as version using (entity_id)
    where known.name = entity and version.deleted is null
    returning entity_id into _id;
    execute format(
        'create table warehouse.%I (%s, constraint %I primary key (_source, _key))',
        _name,
        (select string_agg(
            format('%I %s%s', own.name, own.type, case own.name
                when '_source' then ' collate "C" not null' when '_key' then ' not null' when '_deleted' then ' not null'
            end), ', '
        ) from metl._warehouse_own() as own),
        substr(_name, 1, 55) || '_pk'
    );
    execute format(
        'create index %I on warehouse.%I (_source, _key) where _kept is not null', substr(_name, 1, 55) || '_kept', _name
    );
    for _column in select * from metl._warehouse_shape(entity) order by place loop
        insert into metl.warehouse_column (entity_attribute_id, entity_id, name)
        values (_column.entity_attribute_id, _id, _column.name);
        execute format('alter table warehouse.%I add column %I %s', _name, _column.name, _column.type);
    end loop;
    for _column in select rolname from pg_roles where rolname in ('metl_reader', 'metl_steward', 'metl_job') loop
        execute format('grant select on warehouse.%I to %I', _name, _column.rolname);
    end loop;
end $$;
comment on function metl._warehouse_make(text) is 'Makes the table of an entity.';

create or replace function metl._warehouse_convert(relation text, name text, type text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _old text;
    _lost text;
    _reason text;
begin
    select format_type(atttypid, atttypmod) into _old
    from pg_attribute where attrelid = format('warehouse.%I', relation)::regclass and attname = name;
    begin
        -- There and back again: what a cast drops is lost as much as what it refuses.
        execute format(
            'select %1$I::text from warehouse.%2$I where %1$I is distinct from %1$I::text::%3$s::text::%4$s limit 1',
            name, relation, type, _old
        ) into _lost;
        _reason := format('%L would be altered', left(_lost, 200));
        if _lost is null then
            execute format('alter table warehouse.%1$I alter column %2$I type %3$s using %2$I::text::%3$s', relation, name, type);
            return;
        end if;
    exception when data_exception or cannot_coerce then
        _reason := sqlerrm;
    end;
    raise exception using
        errcode = 'datatype_mismatch',
        message = format('Column %I of warehouse.%I cannot become %s: %s.', name, relation, type, _reason),
        hint = 'Mend those values at their source and load them again, or add a version of the entity that has another '
        'name for it.';
end $$;
comment on function metl._warehouse_convert(text, text, text) is
'Changes the type of a column, if every value fits.';

create or replace function metl._warehouse_elevate(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.warehouse_table;
    _change record;
begin
    select known.* into _known
    from metl.warehouse_table as known inner join metl.entity using (entity_id)
    where entity.name = _warehouse_elevate.entity;
    -- Those that go make way first, then those that change their names, through names that nobody has.
    for _change in
        select known.entity_attribute_id, known.name
        from metl.warehouse_column as known
        where
            known.entity_id = _known.entity_id and not known.retired
            and not exists (
                select from metl._warehouse_shape(entity) as wanted
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
        inner join metl._warehouse_shape(entity) as wanted using (entity_attribute_id)
        where known.name <> wanted.name
    loop
        execute format('alter table warehouse.%I rename column %I to %I', _known.name, _change.name, '_new_' || _change.entity_attribute_id);
        update metl.warehouse_column set name = '_new_' || _change.entity_attribute_id
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    for _change in
        select known.entity_attribute_id, known.name, wanted.name as new_name
        from metl.warehouse_column as known
        inner join metl._warehouse_shape(entity) as wanted using (entity_attribute_id)
        where known.name <> wanted.name
    loop
        execute format('alter table warehouse.%I rename column %I to %I', _known.name, _change.name, _change.new_name);
        update metl.warehouse_column set name = _change.new_name
        where entity_id = _known.entity_id and name = _change.name;
    end loop;
    -- A name that stays with another identity has another type.
    for _change in
        select wanted.entity_attribute_id, wanted.name, wanted.type, known.name is not null as is_there
        from metl._warehouse_shape(entity) as wanted
        left join metl.warehouse_column as same on wanted.entity_attribute_id = same.entity_attribute_id
        left join lateral (
            select other.name from metl.warehouse_column as other
            where other.entity_id = _known.entity_id and other.name = wanted.name limit 1
        ) as known on true
        where same.name is null
        order by wanted.place
    loop
        if _change.is_there then
            perform metl._warehouse_convert(_known.name, _change.name, _change.type);
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
comment on function metl._warehouse_elevate(text) is
'Gives a table the shape of the live version of its entity. Columns are added, renamed and converted; those of '
'attributes that are gone are kept under a name that begins with _old_.';
