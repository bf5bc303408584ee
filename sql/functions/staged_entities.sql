create or replace function metl.staged_entities(job text) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return query execute format(
        'select distinct entity from warehouse.%I order by entity', metl._warehouse_work(job)
    );
end $$;
comment on function metl.staged_entities(text) is
'The entities of the records that were copied into the table of metl.open_warehouse, to be merged one by one.';
