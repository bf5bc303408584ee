create or replace function metl.record_batch(job text, instance uuid, batch bigint, progress jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _read metl.job_batch := metl._parse_progress(job, batch, progress);
begin
    if not exists (
        select from metl.job_instance as known
        where known.job = record_batch.job and known.instance = record_batch.instance
    ) then
        perform metl._require_job(job);
        raise exception using
            errcode = 'undefined_object',
            message = format('Job %L has no instance %s.', job, coalesce(instance::text, 'null')),
            hint = 'Start it with metl.start_job first.';
    end if;
    _read.job := job;
    _read.instance := instance;
    _read.batch := batch;
    insert into metl.job_batch select _read.* on conflict on constraint job_batch_pk do nothing;
    if found then
        update metl.job_instance as total set
            rows_in = total.rows_in + _read.rows_in,
            rows_out = total.rows_out + _read.rows_out,
            rows_filtered = total.rows_filtered + _read.rows_filtered,
            dead = metl._add_counts(total.dead, _read.dead)
        where total.job = record_batch.job and total.instance = record_batch.instance;
    end if;
end $$;
comment on function metl.record_batch(text, uuid, bigint, jsonb) is
'Records what a batch did, also of an instance that was superseded meanwhile; the same batch again changes nothing.';
