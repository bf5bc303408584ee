-- metl.outdated says of which versions the messages are.
drop function if exists metl.outdated(bigint);

-- How far behind a job is in time. A backlog's age is no latency of the job's.
alter table metl.job_batch add column if not exists behind_ms bigint;

insert into metl.migration (number, name) values (19, 'progress') on conflict do nothing;
