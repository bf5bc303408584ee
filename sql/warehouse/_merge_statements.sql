create or replace function metl._merge_statements(
    staged text, entity text, op text, state bigint, schema text, version int,
    out kept text, out older text, out newer text, out fresh text, out is_whole boolean
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
    _cleared constant text[] := metl._cleared_columns(entity, schema);
    _kept text;
    _select text;
begin
    select made.name, array_agg(distinct known.name) filter (where not known.retired or op = 'd') into strict _table, _all
    from metl.warehouse_table as made
    inner join metl.entity as named using (entity_id)
    left join metl.warehouse_column as known using (entity_id)
    where named.name = _merge_statements.entity
    group by made.name;
    _all := coalesce(_all, '{}');
    if op <> 'd' then
        select
            coalesce(array_agg(cell.name order by cell.name), '{}'),
            coalesce(array_agg(metl._column_value_sql(read.value, cell.source_type, cell.type, cell.target) order by cell.name), '{}'),
            coalesce(array_agg(cell.attribute order by cell.name), '{}'),
            string_agg(read.declared, ', ' order by cell.name)
        into _cells, _made, _attributes, _declared
        from metl._mapped_columns(entity, state, schema, version) as cell
        cross join lateral metl._json_field_sql(cell.attribute, cell.source_type, cell.type, cell.target) as read
        where cell.name <> all(_cleared);
    end if;
    if op = 'u' then
        _left := array(
            select unnest(metl._columns_of_schema(entity, schema)) except select unnest(_cells || _cleared) order by 1
        );
    end if;
    is_whole := _left = '{}';
    kept := format('select exists (select from warehouse.%I where _kept is not null)', _table);
    -- Columns that the record lacks. That their values are from no earlier record is [-1, 0].
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
    fresh := format(
        'insert into warehouse.%I (_source, _key, _partition, _offset, _at, _deleted, _state, _schema, _version, _kept%s) %s',
        _table, (select string_agg(format(', %I', name), '' order by name) from unnest(_all) as name), _select
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
comment on function metl._merge_statements(text, text, text, bigint, text, int) is
'SQL that merges records of one kind: newer for those that are newer than their rows; older for those that are older '
'and have what newer ones lacked, if there is such a row (kept); fresh for those without rows. is_whole: such a '
'record is a full-row image.';
