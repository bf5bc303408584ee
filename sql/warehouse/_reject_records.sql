create or replace function metl._reject_records(staged text, condition text, reason text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _count bigint;
begin
    execute format(
        'insert into warehouse._rejected (entity, source, partition, "offset", state, key, reason)
         select work.entity, work.source, %1$s, %2$s, %3$s, work.key, %4$L from warehouse.%5$I as work where %6$s
         on conflict do nothing',
        'case when work.partition ~ ''^[0-9]{1,9}$'' then work.partition::int end',
        'case when work."offset" ~ ''^[0-9]{1,18}$'' then work."offset"::bigint end',
        'case when work.state ~ ''^[0-9]{1,18}$'' then work.state::bigint end',
        reason, staged, condition
    );
    execute format('update warehouse.%I as work set round = -1 where %s', staged, condition);
    get diagnostics _count = row_count;
    return _count;
end $$;
comment on function metl._reject_records(text, text, text) is
'Records why the records that meet a condition are in no table; how many there are.';
