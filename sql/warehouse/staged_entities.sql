create or replace function metl.staged_entities(job text) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _staged constant text := metl._staging_table(job);
    _entities text[];
begin
    execute format('select array(select distinct entity from warehouse.%I order by entity)', _staged) into _entities;
    -- A few are found by going through all records, of many each would be looked for among those of all others.
    if cardinality(_entities) > 4 then
        execute format('create index if not exists %I on warehouse.%I (entity)', _staged || '_by_entity', _staged);
    end if;
    return query select unnest(_entities);
end $$;
comment on function metl.staged_entities(text) is
'The entities of the records that were copied into the table of metl.open_warehouse, to be merged one by one.';
