-- How the records of a batch become rows. Each step is one statement for all records that are alike; if it fails on a
-- value, it is done again record by record, and those that do not fit are rejected.
create or replace function metl._warehouse_reject(staged text, condition text, reason text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _count bigint;
begin
    execute format(
        'insert into warehouse._rejected (entity, source, partition, "offset", state, key, reason)
         select work.entity, work.source, %1$s, %2$s, %3$s, work.key, %4$L from warehouse.%5$I as work where %6$s
         on conflict do nothing',
        'case when work.partition ~ ''^[0-9]{1,9}$'' then work.partition::int end',
        'case when work."offset" ~ ''^[0-9]{1,18}$'' then work."offset"::bigint end',
        'case when work.state ~ ''^[0-9]{1,18}$'' then work.state::bigint end',
        reason, staged, condition
    );
    execute format('update warehouse.%I as work set round = -1 where %s', staged, condition);
    get diagnostics _count = row_count;
    return _count;
end $$;
comment on function metl._warehouse_reject(text, text, text) is
'Records why the records that meet a condition are in no table; how many there are.';

create or replace function metl._warehouse_unfit() returns table (condition text, reason text)
language sql immutable
begin atomic
    select rule.*
    from (
        values
        (
            'num_nulls(work.source, work.partition, work."offset", work.state) > 0 '
            'or not (pg_input_is_valid(work.partition, ''int'') and pg_input_is_valid(work."offset", ''bigint'') '
            'and pg_input_is_valid(work.state, ''bigint'') and pg_input_is_valid(work.version, ''int'') '
            'and pg_input_is_valid(work.at, ''bigint''))',
            'It has no position.'
        ),
        ('work.op is null or work.op not in (''c'', ''r'', ''u'', ''d'', ''t'')', 'It does not say what happened.'),
        ('work.key is null or work.key = ''null'' and work.op in (''u'', ''d'')', 'It has no key.')
    ) as rule (condition, reason);
end;
comment on function metl._warehouse_unfit() is 'Which records nobody could merge, as SQL, and why.';

create or replace function metl._warehouse_screen(staged text, entity text) returns bigint
language sql
as $$
    select sum(metl._warehouse_reject(
        staged, format('work.entity = %L and work.round > 0 and (%s)', entity, unfit.condition), unfit.reason
    ))
    from metl._warehouse_unfit() as unfit
$$;
comment on function metl._warehouse_screen(text, text) is
'Rejects the records of an entity that nobody could merge; how many there are.';

create or replace function metl._warehouse_survey(staged text, entity text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _kinds jsonb;
begin
    execute format(
        'select coalesce(jsonb_agg(kind), ''[]'') from (
            select work.op, work.state, work.schema, work.version, bool_and((%s) is not true) as fits
            from warehouse.%I as work where work.entity = %L and work.round > 0
            group by work.op, work.state, work.schema, work.version
        ) as kind',
        (select string_agg(unfit.condition, ' or ') from metl._warehouse_unfit() as unfit), staged, entity
    ) into _kinds;
    return _kinds;
end $$;
comment on function metl._warehouse_survey(text, text) is
'The kinds of records of an entity: what happened, and which version was mapped under which state. All in one look, '
'since a batch is large and its kinds are few.';

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
                or (metl._warehouse_type(target) = 'jsonb' and target <> 'json') then format('%I json', attribute)
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

create or replace function metl._warehouse_statements(
    staged text, entity text, op text, state bigint, schema text, version int,
    out kept text, out older text, out newer text, out is_whole boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _table text;
    _all text[];
    _cells text[] := '{}';
    _made text[] := '{}';
    _attributes text[] := '{}';
    _declared text;
    -- Columns that a record of this kind leaves as they are.
    _left text[] := '{}';
    _kept text;
    _select text;
begin
    select made.name, array_agg(distinct known.name) filter (where not known.retired or op = 'd') into strict _table, _all
    from metl.warehouse_table as made
    inner join metl.entity as named using (entity_id)
    left join metl.warehouse_column as known using (entity_id)
    where named.name = _warehouse_statements.entity
    group by made.name;
    _all := coalesce(_all, '{}');
    if op <> 'd' then
        select
            coalesce(array_agg(cell.name order by cell.name), '{}'),
            coalesce(array_agg(metl._wire_value(read.value, cell.source_type, cell.type, cell.target) order by cell.name), '{}'),
            coalesce(array_agg(cell.attribute order by cell.name), '{}'),
            string_agg(read.declared, ', ' order by cell.name)
        into _cells, _made, _attributes, _declared
        from metl._warehouse_cells(entity, state, schema, version) as cell
        cross join lateral metl._warehouse_read(cell.attribute, cell.source_type, cell.type, cell.target) as read;
    end if;
    if op = 'u' then
        _left := array(select unnest(metl._warehouse_brought(entity, schema)) except select unnest(_cells) order by 1);
        _all := array(select unnest(_cells || _left) order by 1);
    end if;
    is_whole := _left = '{}';
    kept := format('select exists (select from warehouse.%I where _kept is not null)', _table);
    -- What the record does not bring, as far as is known of it: nothing was ever brought before.
    _kept := case
        when op = 'd' then 'null::jsonb'
        else format(
            '(select jsonb_object_agg(left_out.name, ''[-1, 0]''::jsonb) from (select unnest(%L::text[]) as name union select known.name '
            'from unnest(%L::text[], %L::text[]) as known (name, attribute) where work.unavailable::jsonb ? known.attribute) '
            'as left_out)', _left, _cells, _attributes
        )
    end;
    if op <> 'd' and is_whole then
        _kept := format('case when work.unavailable is not null then %s end', _kept);
    end if;
    _select := format(
        'select work.source as _source, case when work.key <> ''null'' then work.key::jsonb else '
        'jsonb_build_object(''partition'', work.partition::int, ''offset'', work."offset"::bigint) end as _key, '
        'work.partition::int as _partition, work."offset"::bigint as _offset, coalesce(work.at::bigint, 0) as _at, '
        '%L::boolean as _deleted, work.state::bigint as _state, work.schema as _schema, work.version::int as _version, '
        '%s as _kept%s from warehouse.%I as work%s where work.entity = $1 and work.op = any($2) and work.round = $3 '
        'and ($4 is null or concat_ws('' '', work.state, work.version, work.schema) = any($4)) and ($5 is null or work.id = $5)',
        op = 'd', _kept,
        (select string_agg(
            format(
                ', %s as %I',
                coalesce(_made[array_position(_cells, name)], format('(null::warehouse.%I).%I', _table, name)), name
            ), '' order by name
        ) from unnest(_all) as name),
        staged,
        case when _declared is not null then format(' cross join lateral json_to_record(work.after::json) as read (%s)', _declared) else '' end
    );
    -- Nobody else writes to the table, so that a join finds out what is new: `on conflict` would ask its index twice.
    newer := format(
        'merge into warehouse.%1$I as old using (%3$s) as new on old._source = new._source and old._key = new._key '
        'when not matched then insert (_source, _key, _partition, _offset, _at, _deleted, _state, _schema, _version, '
        '_kept%2$s) values (new._source, new._key, new._partition, new._offset, new._at, new._deleted, new._state, '
        'new._schema, new._version, new._kept%5$s) '
        'when matched and case when new._partition = old._partition '
        'then (new._offset, new._state) > (old._offset, old._state) '
        'else (new._at, new._partition, new._offset) > (old._at, old._partition, old._offset) end '
        'then update set _partition = new._partition, _offset = new._offset, _at = new._at, _deleted = new._deleted, '
        '_state = new._state, _schema = new._schema, _version = new._version, _kept = case when new._kept is not null then '
        '(select jsonb_object_agg(name, case when old._kept ? name then old._kept -> name '
        'when old._partition <> new._partition then jsonb_build_array(-1, old._at) '
        'when old._offset = new._offset then ''[-1, 0]'' else jsonb_build_array(old._offset, old._state) end) '
        'from jsonb_object_keys(new._kept) as name) end%4$s',
        _table,
        (select string_agg(format(', %I', name), '' order by name) from unnest(_all) as name),
        _select,
        (select string_agg(
            format(
                ', %1$I = case when not coalesce(new._kept ? %2$L, false) then new.%1$I '
                'when old._offset <> new._offset or old._partition <> new._partition or old._kept ? %2$L then old.%1$I end',
                name, name
            ), '' order by name
        ) from unnest(_all) as name),
        (select string_agg(format(', new.%I', name), '' order by name) from unnest(_all) as name)
    );
    older := format(
        'update warehouse.%1$I as old set _kept = old._kept || coalesce((select jsonb_object_agg('
        'name, jsonb_build_array(new._offset, new._state)) from jsonb_object_keys(old._kept) as name where name = any(%2$L::text[]) '
        'and old._kept -> name < jsonb_build_array(new._offset, new._state) and not coalesce(new._kept ? name, false) '
        'and (old._kept -> name ->> 0 <> ''-1'' or new._at >= (old._kept -> name ->> 1)::bigint)), ''{}'')%3$s '
        'from (%4$s) as new where old._source = new._source and old._key = new._key and old._kept is not null '
        'and old._partition = new._partition and old._offset > new._offset',
        _table, _all,
        (select string_agg(
            format(
                ', %1$I = case when old._kept -> %2$L < jsonb_build_array(new._offset, new._state) '
                'and not coalesce(new._kept ? %2$L, false) '
                'and (old._kept -> %2$L ->> 0 <> ''-1'' or new._at >= (old._kept -> %2$L ->> 1)::bigint) '
                'then new.%1$I else old.%1$I end', name, name
            ), '' order by name
        ) from unnest(_all) as name),
        _select
    );
end $$;
comment on function metl._warehouse_statements(text, text, text, bigint, text, int) is
'SQL that merges records of one kind: one statement for those that are newer than their rows, and one for those that '
'are older and have what the newer ones did not bring, if there is such a row. Whole are those that bring all.';

create or replace function metl._warehouse_apply(
    staged text, shape jsonb, entity text, ops text[], round int, feeds text[]
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
-- Rows are found by their key, whatever statistics say of a table that was empty a moment ago: to go through all of it
-- for each record, or to read a table of years for a batch of seconds, would never end.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_memoize = off
set enable_nestloop = on
as $$
declare
    _table constant text := format('warehouse.%I', shape ->> 'table');
    _rejected bigint := 0;
    _has_kept boolean;
    _every constant bigint := null;
    _id bigint;
begin
    execute shape ->> 'kept' into _has_kept;
    begin
        -- A table that is not much larger than the batch is read once, as a whole: that takes a quarter less.
        if pg_relation_size(_table) < 4 * pg_relation_size(format('warehouse.%I', staged)) then
            perform set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
                set_config('enable_nestloop', 'off', true);
        end if;
        if _has_kept then
            execute shape ->> 'older' using entity, ops, round, feeds, _every;
        end if;
        execute shape ->> 'newer' using entity, ops, round, feeds, _every;
        return 0;
    -- A key may come twice in two spellings.
    exception when data_exception or program_limit_exceeded or cardinality_violation or unique_violation then
        null;
    end;
    for _id in execute format(
        'select id from warehouse.%I as work where entity = $1 and op = any($2) and round = $3
         and ($4 is null or concat_ws('' '', work.state, work.version, work.schema) = any($4)) order by id', staged
    ) using entity, ops, round, feeds loop
        begin
            if _has_kept then
                execute shape ->> 'older' using entity, ops, round, feeds, _id;
            end if;
            execute shape ->> 'newer' using entity, ops, round, feeds, _id;
        exception when data_exception or program_limit_exceeded then
            _rejected := _rejected + metl._warehouse_reject(staged, format('work.id = %s', _id), sqlerrm);
        end;
    end loop;
    return _rejected;
end $$;
comment on function metl._warehouse_apply(text, jsonb, text, text[], int, text[]) is
'Merges the records of some kinds and a round, all at once if they all fit, and else one by one; how many do not.';
