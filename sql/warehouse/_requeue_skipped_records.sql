create or replace function metl._requeue_skipped_records(staged text, entity text, rounds int) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
-- A batch has no statistics: it would be taken for small, and joined with itself row by row.
set enable_nestloop = off
as $$
declare
    _rounds int;
begin
    execute format(
        'with bad as materialized (
            select distinct source, key from warehouse.%1$I where entity = %2$L and round = -1
        ), numbered as (
            select work.id, row_number() over (partition by work.source, work.key order by work."offset"::bigint) as place
            from warehouse.%1$I as work inner join bad using (source, key)
            where work.entity = %2$L and work.round = 0
        ), changed as (
            update warehouse.%1$I as work set round = %3$s + numbered.place from numbered
            where work.id = numbered.id returning work.round
        )
        select max(round) from changed', staged, entity, rounds
    ) into _rounds;
    return _rounds;
end $$;
comment on function metl._requeue_skipped_records(text, text, int) is
'Where a full-row image was rejected, the records before it are needed: assigns them to further rounds; null if '
'there are none.';
