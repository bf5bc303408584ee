create or replace function metl.open_initial_load(entity text) returns table (entity_attribute text, column_name text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _table text;
begin
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    perform metl._ensure_entity_table(entity);
    select known.name into strict _table
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = open_initial_load.entity;
    drop table if exists pg_temp.initial_load;
    execute format(
        'create temporary table initial_load as select _key%s from warehouse.%I with no data',
        (select string_agg(format(', %I', shape.name), '') from metl._entity_columns(entity) as shape), _table
    );
    execute format('grant insert on pg_temp.initial_load to %I', session_user);
    return query select shape.attribute, shape.name from metl._entity_columns(entity) as shape order by shape.place;
end $$;
comment on function metl.open_initial_load(text) is
'Makes room for rows of an entity that come from a table: pg_temp.initial_load, with the key and a column for each '
'attribute, whose names it returns. metl.merge_initial_load takes them from there.';
