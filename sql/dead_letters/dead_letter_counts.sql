create or replace view metl.dead_letter_counts as
select topic, reason, schema, ref, status, count(*) as letters, min(first_at) as first_at, max(last_at) as last_at
from metl.dead_letter
group by topic, reason, schema, ref, status;
comment on view metl.dead_letter_counts is 'How many dead letters there are, by topic, reason, ref and status.';
