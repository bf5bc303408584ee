create or replace view metl.dead_letters as
select
    letter, topic, partition, message_offset, reason, schema, version, ref, state, job, message_at, first_at, last_at,
    times, replays, status, sent_at,
    octet_length(key) as key_bytes,
    octet_length(value) as value_bytes,
    headers is null as is_purged,
    operation
from metl.dead_letter;
comment on view metl.dead_letters is
'Every message that could not be mapped: where it is from and why, without what it says (metl.letter_payload).';

create or replace view metl.dead_letter_counts as
select topic, reason, schema, ref, status, count(*) as letters, min(first_at) as first_at, max(last_at) as last_at
from metl.dead_letter
group by topic, reason, schema, ref, status;
comment on view metl.dead_letter_counts is 'How many dead letters there are, by topic, reason, ref and status.';

create or replace view metl.dead_positions as
select topic, partition, next_offset, at from metl.dead_position;
comment on view metl.dead_positions is 'How far the topics of dead letters are collected.';

create or replace view metl.operations as
select operation, kind, who, why, about, began_at, ended_at, outcome from metl.operation;
comment on view metl.operations is
'What was sent again, given up, reset, snapshot, reprocessed or loaded: by whom, when, why, and what came of it.';
