create or replace function metl.letter_payload(letter bigint)
returns table (key bytea, value bytea, headers jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select known.key, known.value, known.headers from metl.dead_letter as known
    where known.letter = letter_payload.letter
$$;
comment on function metl.letter_payload(bigint) is
'The payload of a dead letter: key, value and headers as [name, value in base64], byte for byte. It is business '
'data.';
