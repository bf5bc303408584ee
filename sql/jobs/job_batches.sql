create or replace view metl.job_batches as
select
    job, instance, batch, state, began_at, ended_at, rows_in, rows_out, rows_filtered,
    dead, latency_ms, matrix_rows, matrix_bytes, lag, positions, behind_ms
from metl.job_batch;
comment on view metl.job_batches is 'What each batch of each job did.';
