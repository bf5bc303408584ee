-- It returns the versions of the messages as well.
drop function if exists metl.outdated(bigint);

-- How far behind a job is in time: the age of a backlog is no latency.
alter table metl.job_batch add column behind_ms bigint;
