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
'Every message that could not be mapped: its position and the reason, without its payload (metl.letter_payload).';
