-- What comes over the wire as text, as SQL that makes a value of it. The zone of the session is UTC.
create or replace function metl._does_not_fit(value text, type text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if value is null then
        return null;
    end if;
    raise exception using
        errcode = 'data_exception',
        message = format('%s does not fit type %s without being altered.', quote_literal(left(value, 200)), type);
end $$;
comment on function metl._does_not_fit(text, text) is
'Refuses a value that would have to be altered; there is nothing to alter of null.';

create or replace function metl._decimal_of(bytes text, scale int) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    _bytes constant bytea := decode(bytes, 'base64');
    _found numeric := 0;
begin
    if bytes is null then
        return null;
    end if;
    if scale is null or length(_bytes) = 0 then
        perform metl._does_not_fit(bytes, 'numeric, since its scale is not known');
    end if;
    for _at in 0 .. length(_bytes) - 1 loop
        _found := _found * 256 + get_byte(_bytes, _at);
    end loop;
    if get_byte(_bytes, 0) >= 128 then
        _found := _found - power(256::numeric, length(_bytes));
    end if;
    return case
        when scale > 0 then round(trim_scale(_found * power(10::numeric, -scale)), scale)
        else _found * power(10::numeric, -scale)
    end;
end $$;
comment on function metl._decimal_of(text, int) is 'The number in a Connect Decimal: two''s complement, as base64.';

-- Of what should be a number or a date, and not of anything: a regular expression would take three times as long.
create or replace function metl._wire_is_number(value text) returns text
language sql immutable
return format('translate(substr(%s, 2), ''0123456789'', '''') = ''''', value);
comment on function metl._wire_is_number(text) is
'SQL for whether a value consists of digits, with perhaps a sign before them.';

-- ISO 8601 counts years with a sign and from a year 0 on, PostgreSQL backwards from 1 BC.
create or replace function metl._postgres_year(value text) returns text
language sql immutable
return case
    when value ~ '^[+][0-9]' then substr(value, 2)
    when value ~ '^(-[0-9]|0000-)' then
        lpad((abs(substring(value from '^-?[0-9]+')::bigint) + 1)::text, 4, '0')
        || regexp_replace(value, '^-?[0-9]+', '') || ' BC'
    else value
end;
comment on function metl._postgres_year(text) is
'A date or moment of ISO 8601 as PostgreSQL reads it, also before Christ and after the year 9999.';

create or replace function metl._wire_year(value text) returns text
language sql immutable
return format(
    '(case when left(%1$s, 1) in (''+'', ''-'') or left(%1$s, 5) = ''0000-'' '
    'then metl._postgres_year(%1$s) else %1$s end)',
    value
);
comment on function metl._wire_year(text) is
'SQL for a date or moment of ISO 8601 as PostgreSQL reads it; a look at its first letters suffices for most.';

create or replace function metl._wire_moment(value text) returns text
language sql immutable
return format(
    '(case when length(%1$s) > 15 and %1$s ~ ''[.][0-9]{6}[0-9]*[1-9]'' '
    'then metl._does_not_fit(%1$s, ''microseconds'') else %1$s end)', value
);
comment on function metl._wire_moment(text) is
'SQL for a time or a moment as text, refused if PostgreSQL would round it.';

create or replace function metl._wire_native(value text, source_type text, type text) returns text
language sql immutable
as $$
    with named as (
        select metl._type_name(source_type) as name, metl._wire_is_number(value) as is_number
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
                        'else metl._does_not_fit(%1$s, ''microseconds'')::bigint end',
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
            value, is_number, metl._wire_year(value)
        )
        when type = 'time' then format(
            '(case when %2$s then case when %3$s = 86400000000 then time ''24:00'' '
            'when %3$s between 0 and 86399999999 then time ''00:00'' + %3$s * interval ''1 microsecond'' '
            'else metl._does_not_fit(%1$s, ''time'')::time end '
            'else (%4$s::timetz at time zone ''UTC'')::time end)',
            value, is_number, microseconds, metl._wire_moment(value)
        )
        -- In days and the rest, since an interval is multiplied as a float.
        when type = 'timestamp' then format(
            '(case when not %2$s then %4$s::timestamptz when (%3$s) = 9223372036825200000 then timestamptz ''infinity'' '
            'when (%3$s) = -9223372036832400000 then timestamptz ''-infinity'' '
            'else timestamptz ''epoch'' + (%3$s) / 86400000000 * interval ''1 day'' '
            '+ (%3$s) %% 86400000000 * interval ''1 microsecond'' end)',
            value, is_number, microseconds, metl._wire_year(metl._wire_moment(value))
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
comment on function metl._wire_native(text, text, text) is 'SQL for a value as the type that its source has for it.';

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
