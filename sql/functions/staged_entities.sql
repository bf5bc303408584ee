create or replace function metl.staged_entities(job text) returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _staged constant text := metl._warehouse_work(job);
begin
    -- Joined with itself right away: without figures the planner would take it for small.
    execute format('analyze warehouse.%I', _staged);
    return query execute format('select distinct entity from warehouse.%I order by entity', _staged);
end $$;
comment on function metl.staged_entities(text) is
'The entities of the records that were copied into the table of metl.open_warehouse, to be merged one by one.';
