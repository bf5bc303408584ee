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
        given.number,
        -- Without a header, the position is that of the dead letter itself.
        coalesce(given.said ->> '__connect.errors.topic', _parse_dead_letters.dead_topic),
        coalesce(metl._header_int(given.said ->> '__connect.errors.partition'), given.partition),
        coalesce(metl._header_bigint(given.said ->> '__connect.errors.offset'), given."offset"),
        sha256(
            convert_to(
                coalesce(octet_length(decode(given.key, 'base64'))::text, '-')
                || case when given.value is null then ' -' else ' ' end,
                'UTF8'
            )
            || coalesce(decode(given.key, 'base64'), '') || coalesce(decode(given.value, 'base64'), '')
        ),
        coalesce(given.said ->> '__metl.reason', given.said ->> '__connect.errors.exception.class.name', 'unknown'),
        given.said ->> '__metl.schema',
        given.said ->> '__metl.version',
        given.said ->> '__metl.ref',
        metl._header_bigint(given.said ->> '__metl.state'),
        given.said ->> '__connect.errors.connector.name',
        -- No calendar goes further.
        case
            when metl._header_bigint(given.said ->> '__metl.timestamp') < 9000000000000000
                then to_timestamp(metl._header_bigint(given.said ->> '__metl.timestamp') / 1000.0)
        end,
        given.at,
        coalesce(metl._header_int(given.said ->> '__metl.replay.count'), 0),
        decode(given.key, 'base64'),
        decode(given.value, 'base64'),
        coalesce(given.headers, '[]')
    from rows from (
        jsonb_to_recordset(letters) as (
            partition int, "offset" bigint, at timestamptz, key text, value text, headers jsonb, said jsonb
        )
    ) with ordinality as given (partition, "offset", at, key, value, headers, said, number)
$$;
comment on function metl._parse_dead_letters(text, jsonb) is
'Dead letters as they were collected, with the values of their headers.';
