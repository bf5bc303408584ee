create or replace function metl._json_field_sql(attribute text, source_type text, type text, target text)
returns table (declared text, value text)
language sql immutable
as $$
    with named as (select metl._normalize_type(source_type) as name)

    select
        case
            when octet_length(attribute) > 63 then null
            when
                name in ('org.apache.kafka.connect.data.decimal', 'io.debezium.data.variablescaledecimal')
                -- A JSON document comes as text; a list or a structure of Connect's does not.
                or (metl._column_type(target) = 'jsonb' and target <> 'json' and type <> 'json')
                then format('%I json', attribute)
            else format('%I text', attribute)
        end,
        case
            -- Longer than the name of a column.
            when octet_length(attribute) > 63 then format('(work.after::json ->> %L)', attribute)
            when name = 'org.apache.kafka.connect.data.decimal' then format(
                '(case json_typeof(read.%1$I) when ''string'' then metl._decode_decimal(read.%1$I #>> ''{}'', %2$s)::text '
                'else read.%1$I #>> ''{}'' end)',
                attribute, coalesce(substring(source_type from '[(]([0-9]+)[)]'), 'null')
            )
            when name = 'io.debezium.data.variablescaledecimal' then format(
                'metl._decode_decimal(read.%1$I ->> ''value'', (read.%1$I ->> ''scale'')::int)::text', attribute
            )
            else format('read.%I', attribute)
        end
    from named
$$;
comment on function metl._json_field_sql(text, text, text, text) is
'How an attribute is declared to be read from JSON, and SQL for what it then is as text.';
