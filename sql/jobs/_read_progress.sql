create or replace function metl._read_progress(job text, batch bigint, progress jsonb) returns metl.job_batch
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _read metl.job_batch;
    _wrong text;
begin
    _wrong := metl._wrong_progress(progress);
    if _wrong is null then
        begin
            _read := jsonb_populate_record(null::metl.job_batch, progress);
        exception when data_exception then
            _wrong := sqlerrm;
        end;
    end if;
    if _wrong is null and (batch < 0 or least(
        _read.rows_in, _read.rows_out, _read.rows_filtered, _read.matrix_rows, _read.matrix_bytes, _read.lag,
        _read.behind_ms
    ) < 0) then
        _wrong := 'nothing can be counted below 0';
    end if;
    if _wrong is null and _read.state not between 0 and metl.current_state() then
        _wrong := format('there is no state %s', _read.state);
    end if;
    if batch is null or _wrong is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'Batch %s of job %L cannot be recorded: %s.',
                coalesce(batch::text, 'null'), job, coalesce(_wrong, 'it has no number')
            ),
            hint = 'Give {"state", "began_at", "ended_at", "rows_in", "rows_out", "rows_filtered", '
                '"dead": {"reason": 1}, "latency_ms": {"p50": 1}, "matrix_rows", "matrix_bytes", "lag", "behind_ms", '
                '"positions": {"topic": {"0": [0, 1]}}}; all from "dead" on may be missing.';
    end if;
    _read.dead := coalesce(_read.dead, '{}');
    _read.positions := coalesce(_read.positions, '{}');
    return _read;
end $$;
comment on function metl._read_progress(text, bigint, jsonb) is
'What a job says of a batch, without what names the batch; an error if it cannot be.';

create or replace function metl._wrong_progress(progress jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when jsonb_typeof(progress) is distinct from 'object' then
        format('its progress must be an object, but it is %s', coalesce(left(progress::text, 60), 'null'))
    else (
        select wrong.text
        from (
            select format('%I is missing', needed.key) as text
            from unnest(
                array['state', 'began_at', 'ended_at', 'rows_in', 'rows_out', 'rows_filtered']
            ) as needed (key)
            where progress ->> needed.key is null
            union all
            select format('nobody knows %I', given.key)
            from jsonb_object_keys(progress) as given (key)
            where given.key not in (
                'state', 'began_at', 'ended_at', 'rows_in', 'rows_out', 'rows_filtered',
                'dead', 'latency_ms', 'matrix_rows', 'matrix_bytes', 'lag', 'behind_ms', 'positions'
            )
            union all
            select format('%I must be an object, but it is %s', given.key, left(given.value::text, 60))
            from jsonb_each(progress) as given
            where
                given.key in ('dead', 'latency_ms', 'positions')
                and jsonb_typeof(given.value) not in ('object', 'null')
            union all
            select format('%L cannot be %s dead letters', left(dead.key, 60), left(dead.value::text, 60))
            from jsonb_each(case jsonb_typeof(progress -> 'dead') when 'object' then progress -> 'dead' end) as dead
            where jsonb_typeof(dead.value) <> 'number' or dead.value::text !~ '^[0-9]{1,18}$'
        ) as wrong
        limit 1
    ) end
$$;
comment on function metl._wrong_progress(jsonb) is 'What is wrong with the shape of a progress; null if nothing is.';
