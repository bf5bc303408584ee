-- A row is merged with one record at a time, the newest first: only then it is clear which values older records have to
-- supply. Records before a full-row image are not needed; they stay in round 0.
create or replace function metl._assign_rounds(staged text, entity text, shapes jsonb) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
-- A batch has no statistics: it would be taken for small, and joined with itself row by row.
set enable_nestloop = off
as $$
declare
    _rounds int;
begin
    execute format(
        'with again as (
            select source, key from warehouse.%1$I where entity = %2$L and round > 0 and op <> ''t'' and key <> ''null''
            group by source, key having count(*) > 1
        ), placed as (
            select work.id, work.source, work.key, work.partition, work."offset"::bigint as place,
                work.state::bigint as state, work.unavailable is null and (
                    work.op = ''c''
                    -- Without a time it cannot be compared with a row of another partition.
                    or (work.op = ''d'' and work.at is not null)
                    or concat_ws('' '', work.state, work.version, work.schema) = any(%3$L::text[])
                ) as is_whole,
                max(work.state::bigint) over (partition by work.source, work.key, work.partition, work."offset")
                    as last_state
            from warehouse.%1$I as work inner join again using (source, key)
            where work.entity = %2$L and work.round > 0
        ), judged as (
            -- What was mapped again since does not count any more.
            select *, max(place) filter (where is_whole and state = last_state) over (
                partition by source, key, partition
            ) as whole
            from placed
        ), numbered as (
            select id, case when place < whole then 0 else row_number() over (
                partition by source, key, place < whole order by place desc, state desc, id desc
            ) end as round
            from judged
        ), changed as (
            update warehouse.%1$I as work set round = numbered.round from numbered
            where work.id = numbered.id and numbered.round <> 1
            returning work.round
        )
        select coalesce(max(round), 1) from changed',
        staged, entity,
        array(
            select shape ->> 'feed' from jsonb_array_elements(shapes) as shape
            where (shape ->> 'whole')::boolean and shape ->> 'op' = 'u'
        )
    ) into _rounds;
    return greatest(_rounds, 1);
end $$;
comment on function metl._assign_rounds(text, text, jsonb) is
'Assigns records of the same row to rounds, and returns how many there are.';
