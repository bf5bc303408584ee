create or replace function metl.begin_batch(job text, instance uuid) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _known metl.job := metl._require_current_instance(job, instance);
begin
    if _known.stop_requested then
        raise exception using
            errcode = 'MT001',
            message = format('Job %L was told to stop.', job),
            hint = 'End it, and report it as stopped with metl.report_job.';
    end if;
    return true;
end $$;
comment on function metl.begin_batch(text, uuid) is
'True while an instance of a job may go on; to be called in the query that reads the matrix, so that both see one '
'snapshot. Otherwise an error: MT001 if the job was asked to stop, object_in_use if another instance has taken over.';
