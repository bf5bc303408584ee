create or replace function metl._add_schema_version(
    schema text, version int, attributes jsonb, refs jsonb, approved jsonb default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _fresh metl._given_attribute[];
    _used metl.schema_version;
    _plan metl._cell_fate[];
    _likely_renames jsonb;
    _state bigint;
    _schema_id int;
begin
    perform metl._check_name('schema', schema);
    perform metl._lock();
    select v.* into _used
    from metl.schema_version as v inner join metl.schema as s using (schema_id)
    where s.name = _add_schema_version.schema and v.version = _add_schema_version.version;
    perform metl._refuse_used_version('schema', schema, version, _used.added, _used.deleted);
    if approved is null then
        perform metl._refuse_to_overtake('schema_version', schema, version);
    end if;
    _fresh := metl._parse_attributes(format('schema %L version %s', schema, version), attributes);
    -- Errors in the refs are raised now, not when a plan is confirmed.
    perform metl._parse_refs(schema, version, refs);

    _plan := array(select planned from metl._plan_schema_version(schema, version, _fresh) as planned);
    _likely_renames := metl._suggest_renames(schema, version, _fresh, _plan);
    if approved is not null then
        perform metl._refuse_unapproved_losses(_plan, approved);
    elsif metl._needs_confirmation(_plan) then
        return metl._queue_plan(
            'schema_version', schema, version, attributes, refs, _plan, likely_renames => _likely_renames
        );
    end if;
    _state := metl._begin_state('add_schema_version', metl._state_summary(schema, version, null, null, _plan));
    _schema_id := metl._insert_schema_version(_state, schema, version, _fresh);
    perform metl._replace_refs(_state, _schema_id, schema, version, refs);
    perform metl._set_contents(_state, array(
        select (_schema_id, _add_schema_version.version, cell.entity_id, cell.entity_version, coalesce(
            array_agg(array[cell.attribute_id, cell.entity_attribute_id] order by cell.attribute_id)
            filter (where cell.fate = 'kept'), '{}'
        ))::metl._block_content
        from unnest(_plan) as cell
        where cell.fate in ('kept', 'lost')
        group by cell.entity_id, cell.entity_version
        -- A block that is carried over whole is part of the run already.
        having bool_or(cell.fate = 'lost')
    ));
    perform metl._insert_notices(_state, _plan, likely_renames => _likely_renames);
    return _state;
end $$;
comment on function metl._add_schema_version(text, int, jsonb, jsonb, jsonb) is
'Adds a schema version and carries the blocks of the next lower live version over; waits if it must.';
