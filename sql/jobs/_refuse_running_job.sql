create or replace function metl._refuse_running_job(job text, checkpoint text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _other record;
begin
    select other.job, other.checkpoint, other.instance, other.started_at, session.pid, session.usename into _other
    from metl.job as other
    inner join metl._advisory_locks as held on hashtextextended('metl job ' || other.job, 0) = held.key
    left join pg_stat_activity as session on held.pid = session.pid
    where
        (other.job = _refuse_running_job.job or other.checkpoint = _refuse_running_job.checkpoint)
        and not (other.job = _refuse_running_job.job and held.pid = pg_backend_pid())
    order by other.job = _refuse_running_job.job desc
    limit 1;
    -- One that is just starting has left no row yet.
    raise exception using
        errcode = 'object_in_use',
        message = format(
            'Job %L is already running on checkpoint %L.', coalesce(_other.job, job), coalesce(_other.checkpoint, checkpoint)
        ),
        detail = case
            when _other.job is null then 'Another session is just starting it.'
            else format(
                'Session %s of %s has it, with instance %s since %s.',
                _other.pid, _other.usename, _other.instance, _other.started_at
            )
        end,
        hint = format(
            'Stop it with metl.stop_job(%L), or take another name and another checkpoint.', coalesce(_other.job, job)
        );
end $$;
comment on function metl._refuse_running_job(text, text) is
'An error that names the session that holds the job or the checkpoint.';
