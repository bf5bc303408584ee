-- A truncate is in one partition of its topic. Rows of the same one go by offset, those of others by the time of the
-- event; one of the same millisecond is taken to be newer, since tables are truncated in order to be filled again.
create or replace function metl._warehouse_truncate(work text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
begin
    execute format(
        'insert into metl.warehouse_truncate as known (entity_id, source, partition, "offset", at)
         select made.entity_id, work.source, work.partition, max(work."offset"), max(work.at)
         from warehouse.%I as work
         inner join metl.entity as named on work.entity = named.name
         inner join metl.warehouse_table as made on named.entity_id = made.entity_id
         where work.op = ''t'' group by 1, 2, 3
         on conflict (entity_id, source, partition) do update set
             "offset" = greatest(known."offset", excluded."offset"), at = greatest(known.at, excluded.at)', work
    );
    for _each in
        execute format(
            'select distinct made.name, work.source, known.partition, known."offset", known.at,
                (select string_agg(format('', %%I = null'', owned.name), '''') from metl.warehouse_column as owned
                 where owned.entity_id = made.entity_id) as emptied
             from warehouse.%I as work
             inner join metl.entity as named on work.entity = named.name
             inner join metl.warehouse_table as made on named.entity_id = made.entity_id
             inner join metl.warehouse_truncate as known on made.entity_id = known.entity_id and work.source = known.source
             where work.op = ''t''', work
        )
    loop
        execute format(
            'update warehouse.%I set _deleted = true, _kept = null%s where _source = %L and not _deleted
             and case when _partition = %L then _offset < %L else _at < %L end',
            _each.name, _each.emptied, _each.source, _each.partition, _each."offset", _each.at
        );
    end loop;
    -- What comes again from before a truncate is gone, too.
    if exists (select from metl.warehouse_truncate) then
        execute format(
            'update warehouse.%I as work set op = ''d'', unavailable = null
             from metl.warehouse_truncate as known
             inner join metl.entity as named on known.entity_id = named.entity_id
             where work.entity = named.name and work.source = known.source and work.op in (''c'', ''r'', ''u'')
             and case when work.partition = known.partition then work."offset" < known."offset" else work.at < known.at end',
            work
        );
    end if;
    execute format('delete from warehouse.%I where op = ''t''', work);
end $$;
comment on function metl._warehouse_truncate(text) is 'Marks rows that are older than a truncate as deleted.';
