create or replace function metl.report_job(
    job text, instance uuid, status text, reason text default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if status is null or status not in (
        'starting', 'running', 'retrying', 'stopping', 'stopped', 'halted', 'failed'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a status of a job.', coalesce(quote_literal(left(status, 60)), 'null')),
            hint = 'Take starting, running, retrying, stopping, stopped, halted or failed.';
    end if;
    update metl.job set
        -- A job that runs after a request to stop is stopping.
        status = case
            when job.stop_requested and report_job.status in ('starting', 'running', 'retrying') then 'stopping'
            else report_job.status
        end,
        status_at = clock_timestamp(),
        reason = report_job.reason
    where job.job = report_job.job and job.instance = report_job.instance;
    if not found then
        perform metl._require_current_instance(job, instance);
    end if;
end $$;
comment on function metl.report_job(text, uuid, text, text) is
'Reports the status of a job: starting, running, retrying, stopping, stopped, halted or failed, and why; an error if '
'another instance has taken over.';
