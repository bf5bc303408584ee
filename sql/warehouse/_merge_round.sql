create or replace function metl._merge_round(
    staged text, shape jsonb, entity text, ops text[], round int, feeds text[]
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
-- Rows are found by their key, whatever statistics say of a table that was empty a moment ago: to go through all of it
-- for each record, or to read a table of years for a batch of seconds, would never end.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_memoize = off
set enable_nestloop = on
as $$
declare
    _table constant text := format('warehouse.%I', shape ->> 'table');
    _rejected bigint := 0;
    _has_kept boolean;
    _every constant bigint := null;
    _id bigint;
begin
    execute shape ->> 'kept' into _has_kept;
    begin
        -- A table that is not much larger than the batch is read once, as a whole: that takes a quarter less.
        if pg_relation_size(_table) < 4 * pg_relation_size(format('warehouse.%I', staged)) then
            perform set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
                set_config('enable_nestloop', 'off', true);
        end if;
        if _has_kept then
            execute shape ->> 'older' using entity, ops, round, feeds, _every;
        end if;
        execute shape ->> 'newer' using entity, ops, round, feeds, _every;
        return 0;
    -- A key may come twice in two spellings.
    exception
        when data_exception or cannot_coerce or program_limit_exceeded or cardinality_violation or unique_violation then
            null;
    end;
    for _id in execute format(
        'select id from warehouse.%I as work where entity = $1 and op = any($2) and round = $3
         and ($4 is null or concat_ws('' '', work.state, work.version, work.schema) = any($4)) order by id', staged
    ) using entity, ops, round, feeds loop
        begin
            if _has_kept then
                execute shape ->> 'older' using entity, ops, round, feeds, _id;
            end if;
            execute shape ->> 'newer' using entity, ops, round, feeds, _id;
        exception when data_exception or cannot_coerce or program_limit_exceeded then
            _rejected := _rejected + metl._reject_records(staged, format('work.id = %s', _id), sqlerrm);
        end;
    end loop;
    return _rejected;
end $$;
comment on function metl._merge_round(text, jsonb, text, text[], int, text[]) is
'Merges the records of some kinds and a round, all at once if they all fit, and else one by one; how many do not.';
