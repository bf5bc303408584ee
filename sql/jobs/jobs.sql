create or replace view metl.jobs as
select
    job.job,
    job.status,
    job.reason,
    hashtextextended('metl job ' || job.job, 0) in (select held.key from metl._advisory_locks as held) as running,
    job.started_at,
    job.status_at,
    latest.batch as last_batch,
    latest.ended_at as last_batch_at,
    latest.state,
    clock.state - latest.state as states_behind,
    total.rows_in,
    total.rows_out,
    total.rows_filtered,
    (select coalesce(sum(dead.value::bigint), 0)::bigint from jsonb_each_text(total.dead) as dead) as dead,
    total.dead as dead_by_reason,
    case
        when latest.ended_at > latest.began_at
            then round(latest.rows_in / extract(epoch from latest.ended_at - latest.began_at), 1)
    end as rows_per_second,
    measured.latency_ms,
    latest.lag,
    latest.matrix_rows,
    latest.matrix_bytes,
    job.about,
    job.checkpoint,
    job.instance,
    case when latest.lag > 0 then latest.behind_ms end as behind_ms,
    ever.rows_in as rows_in_ever,
    ever.rows_out as rows_out_ever,
    ever.rows_filtered as rows_filtered_ever,
    ever.dead as dead_ever
from metl.job
inner join metl.job_instance as total on job.job = total.job and job.instance = total.instance
cross join metl.clock
cross join lateral (
    select
        sum(each.rows_in)::bigint as rows_in,
        sum(each.rows_out)::bigint as rows_out,
        sum(each.rows_filtered)::bigint as rows_filtered,
        sum((select coalesce(sum(dead.value::bigint), 0) from jsonb_each_text(each.dead) as dead))::bigint as dead
    from metl.job_instance as each
    where each.job = job.job
) as ever
left join lateral (
    select * from metl.job_batch as batch
    where batch.job = job.job
    order by batch.ended_at desc, batch.batch desc
    limit 1
) as latest on true
left join lateral (
    select batch.latency_ms from metl.job_batch as batch
    where batch.job = job.job and batch.instance = job.instance and batch.latency_ms is not null
    order by batch.ended_at desc, batch.batch desc
    limit 1
) as measured on true;
comment on view metl.jobs is
'Every job that was ever started: whether it runs, how far it has come, what its current instance did and all did.';
