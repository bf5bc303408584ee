-- Jobs: which run, and what their batches did

-- Internals
\ir _read_progress.sql
\ir _wrong_progress.sql
\ir _held.sql
\ir _require_job.sql
\ir _require_instance.sql
\ir _hold.sql
\ir _let_go.sql
\ir _refuse_to_start.sql
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
