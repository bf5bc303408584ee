create or replace function metl._wire_value(value text, source_type text, type text, target text) returns text
language sql immutable
as $$
    with native as (select metl._wire_native(value, source_type, type) as it)

    select case
        when target not in (
            'integer', 'decimal', 'float', 'boolean', 'string', 'bytes', 'date', 'time', 'timestamp', 'interval', 'uuid'
        ) then format('%s::jsonb', value)
        when type = 'string' and target = 'bytes' then format('convert_to(%s, ''UTF8'')', value)
        when type = 'string' and target in ('time', 'timestamp') then
            format('%s::%s', metl._wire_moment(value), metl._warehouse_type(target))
        when type = 'string' and target = 'date' then format(
            'case when %1$s::timestamp = %1$s::date then %1$s::date else metl._does_not_fit(%1$s, ''date'')::date end',
            value
        )
        when target = 'float' and type in ('integer', 'decimal', 'string') then format(
            'case when %1$s::float8::text::numeric = %1$s::numeric then %1$s::float8 '
            'else metl._does_not_fit(%1$s, ''double precision'')::float8 end', value
        )
        when type in ('string', 'json', 'any', 'object', 'array', 'geometry') then
            format('%s::%s', value, metl._warehouse_type(target))
        -- As exact as PostgreSQL itself: what it would round is refused.
        when target = 'integer' and type in ('integer', 'decimal', 'float') then format(
            'case when %2$s then %1$s::bigint when %1$s::numeric = trunc(%1$s::numeric) then %1$s::numeric::bigint '
            'else metl._does_not_fit(%1$s, ''bigint'')::bigint end', value, metl._wire_is_number(value)
        )
        when target = 'decimal' and type = 'float' then format('%s::numeric', value)
        when target = 'string' and type in ('integer', 'decimal', 'boolean', 'uuid') then value
        when target = 'string' and type = 'timestamp' and metl._type_name(source_type) not in (
            'timestamptz', 'timestamp with time zone', 'timestamp with local time zone', 'datetimeoffset', 'date-time',
            'io.debezium.time.zonedtimestamp'
        ) then format('(%s at time zone ''UTC'')::text', it)
        when target = 'date' and type = 'timestamp' then format(
            'case when %1$s = date_trunc(''day'', %1$s) then %1$s::date '
            'else metl._does_not_fit(%2$s, ''date'')::date end', it, value
        )
        -- A cast would drop the days.
        when target = 'time' and type = 'interval' then format(
            'case when %1$s::time::interval = %1$s then %1$s::time else metl._does_not_fit(%2$s, ''time'')::time end',
            it, value
        )
        when target = 'time' and type = 'timestamp' then format('metl._does_not_fit(%s, ''time'')::time', value)
        when type = target and target <> 'integer' then it
        else format('(%s)::%s', it, metl._warehouse_type(target))
    end
    from native
$$;
comment on function metl._wire_value(text, text, text, text) is
'SQL for the value of a column, of a value of some source type and generalized type that came as text.';
