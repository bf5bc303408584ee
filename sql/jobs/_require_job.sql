create or replace function metl._require_job(job text) returns metl.job
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found metl.job;
begin
    select known.* into _found from metl.job as known where known.job = _require_job.job;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no job %s.', coalesce(quote_literal(left(job, 60)), 'null')),
            hint = 'metl.jobs (`metl jobs list`) lists the jobs that were ever started.';
    end if;
    return _found;
end $$;
comment on function metl._require_job(text) is 'A job; an error if there is none of that name.';
