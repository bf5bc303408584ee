create or replace function metl._parse_progress(job text, batch bigint, progress jsonb) returns metl.job_batch
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _read metl.job_batch;
    _wrong text;
begin
    _wrong := metl._progress_problem(progress);
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
comment on function metl._parse_progress(text, bigint, jsonb) is
'The progress that a job reports of a batch, without the key of the batch; an error if it is malformed.';
