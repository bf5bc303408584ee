create or replace function metl._column_value_sql(value text, source_type text, type text, target text) returns text
language sql immutable
as $$
    with native as (select metl._source_value_sql(value, source_type, type) as it)

    select case
        when target not in (
            'integer', 'decimal', 'float', 'boolean', 'string', 'bytes', 'date', 'time', 'timestamp', 'interval', 'uuid'
        ) then format('%s::jsonb', value)
        when type = 'string' and target = 'bytes' then format('convert_to(%s, ''UTF8'')', value)
        when type = 'string' and target in ('time', 'timestamp') then
            format('%s::%s', metl._exact_timestamp_sql(value), metl._column_type(target))
        when type = 'string' and target = 'date' then format(
            'case when %1$s::timestamp = %1$s::date then %1$s::date else metl._refuse_inexact_value(%1$s, ''date'')::date end',
            value
        )
        when target = 'float' and type in ('integer', 'decimal', 'string') then format(
            'case when %1$s::float8::text::numeric = %1$s::numeric then %1$s::float8 '
            'else metl._refuse_inexact_value(%1$s, ''double precision'')::float8 end', value
        )
        when type in ('string', 'json', 'any', 'object', 'array', 'geometry') then
            format('%s::%s', value, metl._column_type(target))
        -- As exact as PostgreSQL itself: what it would round is refused.
        when target = 'integer' and type in ('integer', 'decimal', 'float') then format(
            'case when %2$s then %1$s::bigint when %1$s::numeric = trunc(%1$s::numeric) then %1$s::numeric::bigint '
            'else metl._refuse_inexact_value(%1$s, ''bigint'')::bigint end', value, metl._is_integer_sql(value)
        )
        when target = 'decimal' and type = 'float' then format('%s::numeric', value)
        when target = 'string' and type in ('integer', 'decimal', 'boolean', 'uuid') then value
        when target = 'string' and type = 'timestamp' and metl._normalize_type(source_type) not in (
            'timestamptz', 'timestamp with time zone', 'timestamp with local time zone', 'datetimeoffset', 'date-time',
            'io.debezium.time.zonedtimestamp'
        ) then format('(%s at time zone ''UTC'')::text', it)
        when target = 'date' and type = 'timestamp' then format(
            'case when %1$s = date_trunc(''day'', %1$s) then %1$s::date '
            'else metl._refuse_inexact_value(%2$s, ''date'')::date end', it, value
        )
        -- A cast would drop the days.
        when target = 'time' and type = 'interval' then format(
            'case when %1$s::time::interval = %1$s then %1$s::time else metl._refuse_inexact_value(%2$s, ''time'')::time end',
            it, value
        )
        when target = 'time' and type = 'timestamp' then format('metl._refuse_inexact_value(%s, ''time'')::time', value)
        when type = target and target <> 'integer' then it
        else format('(%s)::%s', it, metl._column_type(target))
    end
    from native
$$;
comment on function metl._column_value_sql(text, text, text, text) is
'SQL for the value of a column, of a value of some source type and generalized type that came as text.';
