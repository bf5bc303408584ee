create or replace function metl._source_value_sql(value text, source_type text, type text) returns text
language sql immutable
as $$
    with named as (
        select metl._normalize_type(source_type) as name, metl._is_integer_sql(value) as is_number
    ),

    units as (
        select
            *,
            case
                when name in (
                    'io.debezium.time.time', 'org.apache.kafka.connect.data.time', 'time-millis',
                    'io.debezium.time.timestamp', 'org.apache.kafka.connect.data.timestamp',
                    'timestamp-millis', 'local-timestamp-millis'
                ) then format('(%s::bigint * 1000)', value)
                when name in ('io.debezium.time.nanotime', 'io.debezium.time.nanotimestamp', 'timestamp-nanos')
                    then format(
                        'case when %1$s::bigint %% 1000 = 0 then %1$s::bigint / 1000 '
                        'else metl._refuse_inexact_value(%1$s, ''microseconds'')::bigint end',
                        value
                    )
                else format('%s::bigint', value)
            end as microseconds
        from named
    )

    select case
        -- Infinite ones are, in Debezium's words, days and moments that PostgreSQL cannot count to.
        when type = 'date' then format(
            '(case when not %2$s then %3$s::date when %1$s::int = -2147472692 then date ''infinity'' '
            'when %1$s::int = -2147472691 then date ''-infinity'' else date ''epoch'' + %1$s::int end)',
            value, is_number, metl._iso_year_sql(value)
        )
        when type = 'time' then format(
            '(case when %2$s then case when %3$s = 86400000000 then time ''24:00'' '
            'when %3$s between 0 and 86399999999 then time ''00:00'' + %3$s * interval ''1 microsecond'' '
            'else metl._refuse_inexact_value(%1$s, ''time'')::time end '
            'else (%4$s::timetz at time zone ''UTC'')::time end)',
            value, is_number, microseconds, metl._exact_timestamp_sql(value)
        )
        -- In days and the rest, since an interval is multiplied as a float.
        when type = 'timestamp' then format(
            '(case when not %2$s then %4$s::timestamptz when (%3$s) = 9223372036825200000 then timestamptz ''infinity'' '
            'when (%3$s) = -9223372036832400000 then timestamptz ''-infinity'' '
            'else timestamptz ''epoch'' + (%3$s) / 86400000000 * interval ''1 day'' '
            '+ (%3$s) %% 86400000000 * interval ''1 microsecond'' end)',
            value, is_number, microseconds, metl._iso_year_sql(metl._exact_timestamp_sql(value))
        )
        when type = 'interval' then format(
            '(case when %2$s then %1$s::bigint * interval ''1 microsecond'' else %1$s::interval end)', value, is_number
        )
        when type = 'bytes' then format('decode(%s, ''base64'')', value)
        when type = 'integer' then format('%s::numeric', value)
        when type = 'decimal' then format('%s::numeric', value)
        when type = 'float' then format('%s::float8', value)
        when type = 'boolean' then format('%s::boolean', value)
        when type = 'uuid' then format('%s::uuid', value)
        else value
    end
    from units
$$;
comment on function metl._source_value_sql(text, text, text) is
'SQL for a value as the type that its source has for it.';
