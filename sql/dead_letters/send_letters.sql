create or replace function metl.send_letters(letters bigint[], operation bigint, most int default 5)
returns table (
    letter bigint, topic text, partition int, message_offset bigint, message_at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select * from metl._claim_letters(send_letters.letters, send_letters.operation, send_letters.most)
$$;
comment on function metl.send_letters(bigint[], bigint, int) is
'Marks dead letters as sent again by an operation and returns what is to be sent, payload and all; left out is what '
'was sent "most" times already (null: no limit) or has no payload any more. Commit when Kafka has them.';
