create or replace function metl._create_entity_table(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _name constant text := metl._warehouse_identifier(entity);
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
        ) from metl._system_columns() as own),
        substr(_name, 1, 55) || '_pk'
    );
    execute format(
        'create index %I on warehouse.%I (_source, _key) where _kept is not null', substr(_name, 1, 55) || '_kept', _name
    );
    for _column in select * from metl._entity_columns(entity) order by place loop
        insert into metl.warehouse_column (entity_attribute_id, entity_id, name)
        values (_column.entity_attribute_id, _id, _column.name);
        execute format('alter table warehouse.%I add column %I %s', _name, _column.name, _column.type);
    end loop;
    for _column in select rolname from pg_roles where rolname in ('metl_reader', 'metl_steward', 'metl_job') loop
        execute format('grant select on warehouse.%I to %I', _name, _column.rolname);
    end loop;
end $$;
comment on function metl._create_entity_table(text) is 'Makes the table of an entity.';
