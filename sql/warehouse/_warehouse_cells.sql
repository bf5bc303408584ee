-- What records of one schema version, mapped under one state, have for an entity.
create or replace function metl._warehouse_cells(entity text, state bigint, schema text, version int)
returns table (attribute text, name text, source_type text, type text, target text)
language sql stable
as $$
    select cell.entity_attribute, known.name, source.source_type, source.type, identity.type
    from (
        select one.attribute, one.entity_attribute, one.entity_version
        from metl.decompaction as one
        where
            one.schema = _warehouse_cells.schema and one.version = _warehouse_cells.version
            and one.entity = _warehouse_cells.entity and _warehouse_cells.state = metl.current_state()
        union all
        select one.attribute, one.entity_attribute, one.entity_version
        from (
            select least(_warehouse_cells.state, metl.current_state()) as state where _warehouse_cells.state <> metl.current_state()
        ) as earlier
        cross join lateral metl.decompaction_at(earlier.state) as one
        where
            one.schema = _warehouse_cells.schema and one.version = _warehouse_cells.version
            and one.entity = _warehouse_cells.entity
    ) as cell
    inner join metl.schema_attributes as source
        on
            source.schema = _warehouse_cells.schema and source.version = _warehouse_cells.version
            and source.attribute = cell.attribute
    inner join metl.entity_attributes as target
        on
            target.entity = _warehouse_cells.entity and target.entity_version = cell.entity_version
            and target.entity_attribute = cell.entity_attribute
    inner join metl.warehouse_column as known
        on target.entity_attribute_id = known.entity_attribute_id and not known.retired
    -- An attribute may have got another type since, which the column has now.
    inner join lateral (
        select live.type from metl.entity_attributes as live
        inner join metl.warehouse_column as same using (entity_attribute_id)
        where live.entity = _warehouse_cells.entity and live.is_live and same.name = known.name
        limit 1
    ) as identity on true
$$;
comment on function metl._warehouse_cells(text, bigint, text, int) is
'The columns that records of a schema version bring, mapped under a state, and what their values are at the source.';

-- The columns that some version of the schema brings: another record of the row may have them.
create or replace function metl._warehouse_brought(entity text, schema text) returns text[]
language sql stable
as $$
    select coalesce(array_agg(distinct known.name), '{}')
    from metl.decompaction as one
    inner join metl.entity_attributes as target
        on
            one.entity = target.entity and one.entity_version = target.entity_version
            and one.entity_attribute = target.entity_attribute
    inner join metl.warehouse_column as known
        on target.entity_attribute_id = known.entity_attribute_id and not known.retired
    where one.entity = _warehouse_brought.entity and one.schema = _warehouse_brought.schema
$$;
comment on function metl._warehouse_brought(text, text) is 'The columns that a schema has for an entity.';

create or replace function metl._warehouse_read(attribute text, source_type text, type text, target text)
returns table (declared text, value text)
language sql immutable
as $$
    with named as (select metl._type_name(source_type) as name)

    select
        case
            when octet_length(attribute) > 63 then null
            when
                name in ('org.apache.kafka.connect.data.decimal', 'io.debezium.data.variablescaledecimal')
                -- A JSON document comes as text; a list or a structure of Connect's does not.
                or (metl._warehouse_type(target) = 'jsonb' and target <> 'json' and type <> 'json')
                then format('%I json', attribute)
            else format('%I text', attribute)
        end,
        case
            -- Longer than the name of a column.
            when octet_length(attribute) > 63 then format('(work.after::json ->> %L)', attribute)
            when name = 'org.apache.kafka.connect.data.decimal' then format(
                '(case json_typeof(read.%1$I) when ''string'' then metl._decimal_of(read.%1$I #>> ''{}'', %2$s)::text '
                'else read.%1$I #>> ''{}'' end)',
                attribute, coalesce(substring(source_type from '[(]([0-9]+)[)]'), 'null')
            )
            when name = 'io.debezium.data.variablescaledecimal' then format(
                'metl._decimal_of(read.%1$I ->> ''value'', (read.%1$I ->> ''scale'')::int)::text', attribute
            )
            else format('read.%I', attribute)
        end
    from named
$$;
comment on function metl._warehouse_read(text, text, text, text) is
'How an attribute is declared to be read from JSON, and SQL for what it then is as text.';
