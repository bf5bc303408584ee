create or replace function metl.merge_warehouse(job text, entity text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set work_mem = '64MB'
as $$
declare
    _staged constant text := metl._warehouse_work(job);
    _mine constant text := format('work.entity = %L and work.round > 0', entity);
    _made metl.warehouse_table;
    _kind record;
    _shape record;
    _shapes jsonb := '[]';
    _rejected bigint;
    _first int := 1;
    _rounds int;
begin
    -- Two jobs may have records of the same entity.
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    _rejected := metl._warehouse_screen(_staged, entity);
    if not exists (
        select from metl.entity_versions as live where live.entity = merge_warehouse.entity and live.deleted is null
    ) then
        _rejected := _rejected + metl._warehouse_reject(_staged, _mine, 'The entity has no live version.');
        return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
    end if;
    perform metl._shape_warehouse(entity);
    select known.* into strict _made
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = merge_warehouse.entity;
    perform metl._warehouse_empty(_staged, entity, _made);

    for _kind in execute format(
        'select distinct case work.op when ''r'' then ''u'' else work.op end as op,
            case when work.op <> ''d'' then work.state::bigint end as state,
            case when work.op <> ''d'' then work.schema end as schema,
            case when work.op <> ''d'' then work.version::int end as version
         from warehouse.%I as work where work.op <> ''t'' and %s', _staged, _mine
    ) loop
        select * into _shape
        from metl._warehouse_statements(_staged, entity, _kind.op, _kind.state, _kind.schema, _kind.version);
        _shapes := _shapes || jsonb_build_object(
            'op', _kind.op, 'older', _shape.older, 'newer', _shape.newer, 'kept', _shape.kept, 'whole', _shape.is_whole,
            'feed', case when _kind.op <> 'd' then concat_ws(' ', _kind.state, _kind.version, _kind.schema) end
        );
    end loop;

    _rounds := metl._warehouse_arrange(_staged, entity, _shapes);
    while _rounds is not null loop
        for _round in _first .. _rounds loop
            -- Kinds of records that are merged in the same way share a statement.
            for _shape in
                select
                    each - 'feed' as it,
                    case each ->> 'op' when 'u' then array['u', 'r'] else array[each ->> 'op'] end as ops,
                    array_agg(each ->> 'feed') filter (where each ->> 'feed' is not null) as feeds
                from jsonb_array_elements(_shapes) as each
                group by 1, 2
            loop
                _rejected := _rejected
                + metl._warehouse_apply(_staged, _shape.it, entity, _shape.ops, _round, _shape.feeds);
            end loop;
        end loop;
        exit when _rejected = 0;
        _first := _rounds + 1;
        _rounds := metl._warehouse_recall(_staged, entity, _rounds);
    end loop;
    return jsonb_build_object('rejected', _rejected, 'state', metl.current_state());
end $$;
comment on function metl.merge_warehouse(text, text) is
'Merges the records of an entity that were copied into the table of metl.open_warehouse into the table of the entity, '
'and says how many were rejected. Records that come again change nothing, in whichever order.';
