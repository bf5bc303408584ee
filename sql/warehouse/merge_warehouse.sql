create or replace function metl.merge_warehouse(job text, entity text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set work_mem = '64MB'
-- Other entities are merged at the same time.
set max_parallel_workers_per_gather = 0
as $$
declare
    _staged constant text := metl._staging_table(job);
    _mine constant text := format('work.entity = %L and work.round > 0', entity);
    _made metl.warehouse_table;
    _kinds jsonb;
    _kind record;
    _shape record;
    _shapes jsonb := '[]';
    _rejected bigint := 0;
    _first int := 1;
    _rounds int;
begin
    -- Two jobs may have records of the same entity.
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    _kinds := metl._staged_record_kinds(_staged, entity);
    -- The table of a batch does not survive a crash of the server: that it is empty does not mean that all is merged.
    if _kinds = '[]' then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('There are no records of entity %s in the batch of job %s.', entity, job),
            hint = 'Copy them into the table that metl.open_warehouse names.';
    end if;
    if _kinds @> '[{"fits": false}]' then
        _rejected := metl._reject_malformed_records(_staged, entity);
        _kinds := metl._staged_record_kinds(_staged, entity);
    end if;
    if not exists (
        select from metl.entity_versions as live where live.entity = merge_warehouse.entity and live.deleted is null
    ) then
        _rejected := _rejected + metl._reject_records(_staged, _mine, 'The entity has no live version.');
        return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
    end if;
    perform metl._ensure_entity_table(entity);
    select known.* into strict _made
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = merge_warehouse.entity;
    perform metl._clear_next_pages(_made.entity_id);
    if
        _kinds @> '[{"op": "t"}]'
        or exists (select from metl.warehouse_truncate as known where known.entity_id = _made.entity_id)
    then
        perform metl._soft_delete_rows(_staged, entity, _made);
        _kinds := metl._staged_record_kinds(_staged, entity);
    end if;

    for _kind in
        select distinct
            case kind.op when 'r' then 'u' else kind.op end as op,
            case when kind.op <> 'd' then kind.state end as state,
            case when kind.op <> 'd' then kind.schema end as schema,
            case when kind.op <> 'd' then kind.version end as version
        from jsonb_to_recordset(_kinds) as kind (op text, state text, schema text, version text)
        where kind.op <> 't'
    loop
        select * into _shape
        from metl._merge_statements(
            _staged, entity, _kind.op, _kind.state::bigint, _kind.schema, _kind.version::int
        );
        _shapes := _shapes || jsonb_build_object(
            'op', _kind.op, 'older', _shape.older, 'newer', _shape.newer, 'kept', _shape.kept, 'whole', _shape.is_whole,
            'fresh', _shape.fresh,
            'feed', case when _kind.op <> 'd' then concat_ws(' ', _kind.state, _kind.version, _kind.schema) end,
            'table', _made.name
        );
    end loop;

    -- Rows that were just made or read for the first time need no look for their older selves: a third less to do where
    -- there is most to do, at first loads.
    if
        not (_kinds @> '[{"op": "u"}]' or _kinds @> '[{"op": "d"}]')
        and metl._insert_new_rows(_staged, entity, _shapes)
    then
        return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
    end if;

    _rounds := metl._assign_rounds(_staged, entity, _shapes);
    while _rounds is not null loop
        for _round in _first .. _rounds loop
            for _shape in select * from metl._group_statements(_shapes) loop
                _rejected := _rejected
                + metl._merge_round(_staged, _shape.shape, entity, _shape.ops, _round, _shape.feeds);
            end loop;
        end loop;
        exit when _rejected = 0;
        _first := _rounds + 1;
        _rounds := metl._requeue_skipped_records(_staged, entity, _rounds);
    end loop;
    return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
end $$;
comment on function metl.merge_warehouse(text, text) is
'Merges the records of an entity that were copied into the table of metl.open_warehouse into the table of the '
'entity, and returns how many were rejected. Idempotent, in any order of records.';
