-- The locks are those of the session: they end with it, however it ends.
create or replace function metl.start_job(
    job text, checkpoint text, instance uuid, about jsonb default '{}'
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _taken bigint[];
    _known metl.job;
begin
    perform metl._check_name('job', job), metl._check_name('checkpoint', checkpoint);
    if instance is null or jsonb_typeof(about) is distinct from 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'Job %L cannot start as instance %s with %s.',
                job, coalesce(instance::text, 'null'), coalesce(left(about::text, 60), 'null')
            ),
            hint = 'Give a UUID made for this run, and an object that tells people about it.';
    end if;
    _taken := metl._try_advisory_locks(array[
        hashtextextended('metl job ' || job, 0), hashtextextended('metl checkpoint ' || checkpoint, 0)
    ]);
    -- A session that holds the checkpoint for another job of its own would get it again.
    if _taken is null or exists (
        select from metl.job as other
        inner join metl._advisory_locks as held on hashtextextended('metl job ' || other.job, 0) = held.key
        where other.checkpoint = start_job.checkpoint and other.job <> start_job.job
    ) then
        perform metl._release_advisory_locks(_taken);
        perform metl._refuse_running_job(job, checkpoint);
    end if;
    select known.* into _known from metl.job as known where known.job = start_job.job for no key update;
    if _known.instance <> instance and exists (
        select from metl.job_instance as earlier
        where earlier.job = start_job.job and earlier.instance = start_job.instance
    ) then
        perform metl._release_advisory_locks(_taken);
        perform metl._require_current_instance(job, instance);
    end if;
    if _known.checkpoint <> checkpoint then
        perform metl._release_advisory_locks(array[hashtextextended('metl checkpoint ' || _known.checkpoint, 0)]);
    end if;
    -- An instance that reconnects keeps its request to stop.
    insert into metl.job (job, checkpoint, instance, about)
    values (start_job.job, start_job.checkpoint, start_job.instance, start_job.about)
    on conflict on constraint job_pk do update set
        checkpoint = excluded.checkpoint,
        instance = excluded.instance,
        about = excluded.about,
        started_at = case when job.instance = excluded.instance then job.started_at else excluded.started_at end,
        stop_requested = job.stop_requested and job.instance = excluded.instance,
        status = case when job.stop_requested and job.instance = excluded.instance then 'stopping' else 'starting' end,
        status_at = excluded.status_at,
        reason = null;
    insert into metl.job_instance (job, instance) values (start_job.job, start_job.instance)
    on conflict on constraint job_instance_pk do nothing;
end $$;
comment on function metl.start_job(text, text, uuid, jsonb) is
'Lets this session run a job on a checkpoint, both its own until it ends; an error if another session has one of them. '
'The instance is a UUID for this run; after a broken connection it comes again with the same one. '
'What "about" says is there for everybody to read: no secrets.';
