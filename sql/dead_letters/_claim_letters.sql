create or replace function metl._claim_letters(letters bigint[], operation bigint, most int)
returns table (
    letter bigint, topic text, partition int, message_offset bigint, message_at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql
set search_path = pg_catalog, pg_temp
as $$
    update metl.dead_letter as known set
        status = 'sent',
        sent_at = clock_timestamp(),
        replays = known.replays + 1,
        operation = _claim_letters.operation
    where
        known.letter = any(_claim_letters.letters)
        -- Without its headers, the payload was purged.
        and known.headers is not null
        and (known.replays < _claim_letters.most or _claim_letters.most is null)
    returning
        known.letter, known.topic, known.partition, known.message_offset, known.message_at, known.replays,
        known.key, known.value, known.headers
$$;
comment on function metl._claim_letters(bigint[], bigint, int) is
'Marks dead letters as sent and returns them; to be committed when Kafka has acknowledged them.';
