-- A truncate is in one partition of its topic. Rows of the same one go by offset, those of others by the time of the
-- event; one of the same millisecond is taken to be newer, since tables are truncated in order to be filled again.
create or replace function metl._soft_delete_rows(staged text, entity text, made metl.warehouse_table) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
begin
    for _each in execute format(
        'insert into metl.warehouse_truncate as known (entity_id, source, partition, "offset", at)
         select %s, source, partition::int, max("offset"::bigint), max(coalesce(at::bigint, 0))
         from warehouse.%I where entity = %L and op = ''t'' and round > 0 group by source, partition::int
         on conflict (entity_id, source, partition) do update set
             "offset" = greatest(known."offset", excluded."offset"), at = greatest(known.at, excluded.at)
         returning *', made.entity_id, staged, entity
    ) loop
        execute format(
            'update warehouse.%I set _deleted = true, _kept = null%s where _source = %L and not _deleted
             and case when _partition = %L then _offset < %L else _at < %L end',
            made.name,
            (
                select string_agg(distinct format(', %I = null', owned.name), '')
                from metl.warehouse_column as owned where owned.entity_id = made.entity_id
            ),
            _each.source, _each.partition, _each."offset", _each.at
        );
    end loop;
    -- What comes again from before a truncate is gone, too.
    if exists (select from metl.warehouse_truncate as known where known.entity_id = made.entity_id) then
        execute format(
            'update warehouse.%I as work set op = ''d'', unavailable = null from metl.warehouse_truncate as known
             where known.entity_id = %s and work.entity = %L and work.source = known.source
             and work.op in (''c'', ''r'', ''u'') and work.round > 0 and case
                 when work.partition::int = known.partition then work."offset"::bigint < known."offset"
                 else coalesce(work.at::bigint, 0) < known.at
             end', staged, made.entity_id, entity
        );
    end if;
end $$;
comment on function metl._soft_delete_rows(text, text, metl.warehouse_table) is
'Soft-deletes the rows that are older than a truncate.';
