create or replace function metl.stop_job(job text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _at_work constant text[] := array['starting', 'running', 'retrying'];
begin
    update metl.job set
        stop_requested = true,
        status = case when job.status = any(_at_work) then 'stopping' else job.status end,
        status_at = case when job.status = any(_at_work) then clock_timestamp() else job.status_at end
    where job.job = stop_job.job;
    if not found then
        perform metl._require_job(job);
    end if;
end $$;
comment on function metl.stop_job(text) is 'Asks a job to stop before its next batch, and does not wait for it.';
