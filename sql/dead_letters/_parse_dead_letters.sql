create or replace function metl._parse_dead_letters(dead_topic text, letters jsonb)
returns table (
    number bigint, topic text, partition int, message_offset bigint, content bytea, reason text, schema text,
    version text, ref text, state bigint, job text, message_at timestamptz, at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select
        letter.number,
        -- Without a header, the position is that of the dead letter itself.
        coalesce(letter.error_headers ->> '__connect.errors.topic', _parse_dead_letters.dead_topic),
        coalesce(metl._header_int(letter.error_headers ->> '__connect.errors.partition'), letter.partition),
        coalesce(metl._header_bigint(letter.error_headers ->> '__connect.errors.offset'), letter."offset"),
        sha256(
            convert_to(
                coalesce(octet_length(decode(letter.key, 'base64'))::text, '-')
                || case when letter.value is null then ' -' else ' ' end,
                'UTF8'
            )
            || coalesce(decode(letter.key, 'base64'), '') || coalesce(decode(letter.value, 'base64'), '')
        ),
        coalesce(
            letter.error_headers ->> '__metl.reason',
            letter.error_headers ->> '__connect.errors.exception.class.name',
            'unknown'
        ),
        letter.error_headers ->> '__metl.schema',
        letter.error_headers ->> '__metl.version',
        letter.error_headers ->> '__metl.ref',
        metl._header_bigint(letter.error_headers ->> '__metl.state'),
        letter.error_headers ->> '__connect.errors.connector.name',
        -- No calendar goes further.
        case
            when metl._header_bigint(letter.error_headers ->> '__metl.timestamp') < 9000000000000000
                then to_timestamp(metl._header_bigint(letter.error_headers ->> '__metl.timestamp') / 1000.0)
        end,
        letter.at,
        coalesce(metl._header_int(letter.error_headers ->> '__metl.replay.count'), 0),
        decode(letter.key, 'base64'),
        decode(letter.value, 'base64'),
        coalesce(letter.headers, '[]')
    from rows from (
        jsonb_to_recordset(letters) as (
            partition int, "offset" bigint, at timestamptz, key text, value text, headers jsonb, error_headers jsonb
        )
    ) with ordinality as letter (partition, "offset", at, key, value, headers, error_headers, number)
$$;
comment on function metl._parse_dead_letters(text, jsonb) is
'Dead letters as they were collected, with the values of their headers.';
