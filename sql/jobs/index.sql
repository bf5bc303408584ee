-- Jobs: which run, and what their batches did

-- Internals
\ir _parse_progress.sql
\ir _progress_problem.sql
\ir _advisory_locks.sql
\ir _require_job.sql
\ir _require_current_instance.sql
\ir _try_advisory_locks.sql
\ir _release_advisory_locks.sql
\ir _refuse_running_job.sql
\ir _add_counts.sql

-- Views
\ir job_batches.sql
\ir jobs.sql

-- Functions
\ir start_job.sql
\ir begin_batch.sql
\ir report_job.sql
\ir record_batch.sql
\ir stop_job.sql
\ir outdated.sql
