-- Jobs: which run, and what their batches did
\ir _read_progress.sql
\ir _held.sql
\ir _require_job.sql
\ir _hold.sql
\ir _refuse_to_start.sql
\ir _add_counts.sql
\ir start_job.sql
\ir begin_batch.sql
\ir report_job.sql
\ir record_batch.sql
\ir stop_job.sql
\ir jobs.sql
\ir outdated.sql
