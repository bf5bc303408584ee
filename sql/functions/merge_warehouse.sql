create or replace function metl.merge_warehouse(job text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
as $$
declare
    _work constant text := metl._warehouse_work('work', job);
    _entity text;
    _kind record;
    _shape record;
    _shapes jsonb := '[]';
    _whole text[];
    _taken bigint;
    _rejected bigint := 0;
    _first int := 1;
    _rounds int;
    _id bigint;
begin
    perform metl._warehouse_take(metl._warehouse_work('staged', job), _work);
    execute format('analyze warehouse.%I', _work);
    execute format('select count(*) from warehouse.%I', _work) into _taken;
    for _id, _entity in execute format(
        'select id, case when source is null or partition is null or "offset" is null or state is null then ''it has no position''
            when key is null and op <> ''t'' then ''it has no key'' else ''the entity has no live version'' end
         from warehouse.%I as work
         where source is null or partition is null or "offset" is null or state is null or (key is null and op <> ''t'')
         or not exists (select from metl.entity_versions as live where live.entity = work.entity and live.deleted is null)',
        _work
    ) loop
        _rejected := _rejected + 1;
        perform metl._warehouse_reject(_work, _id, _entity);
        execute format('delete from warehouse.%I where id = %s', _work, _id);
    end loop;
    for _entity in execute format('select distinct entity from warehouse.%I', _work) loop
        perform metl.shape_warehouse(_entity);
    end loop;
    perform metl._warehouse_truncate(_work);

    -- Kinds of records that are merged in the same way share a statement.
    for _kind in execute format(
        'select distinct entity, case op when ''r'' then ''u'' else op end as op,
            case when op <> ''d'' then state end as state, case when op <> ''d'' then schema end as schema,
            case when op <> ''d'' then version end as version
         from warehouse.%I', _work
    ) loop
        select * into _shape
        from metl._warehouse_statements(_work, _kind.entity, _kind.op, _kind.state, _kind.schema, _kind.version);
        _shapes := _shapes || jsonb_build_object(
            'entity', _kind.entity, 'op', _kind.op, 'older', _shape.older, 'newer', _shape.newer, 'kept', _shape.kept,
            'whole', _shape.is_whole,
            'feed', case when _kind.op <> 'd' then concat_ws(' ', _kind.state, _kind.version, _kind.schema) end
        );
    end loop;

    -- A row is merged with one record at a time. Those before one that brings all are not needed.
    _whole := array(
        select concat_ws(' ', shape ->> 'entity', shape ->> 'feed')
        from jsonb_array_elements(_shapes) as shape where (shape ->> 'whole')::boolean and shape ->> 'op' = 'u'
    );
    execute format(
        'with again as (
            select entity, source, key from warehouse.%1$I group by entity, source, key having count(*) > 1
        ), judged as (
            select work.id, work.entity, work.source, work.key, work."offset",
                max(work."offset") filter (
                    where work.unavailable is null and (
                        work.op in (''c'', ''d'')
                        or concat_ws('' '', work.entity, work.state, work.version, work.schema) = any(%2$L::text[])
                    )
                ) over (partition by work.entity, work.source, work.key, work.partition) as whole
            from warehouse.%1$I as work inner join again using (entity, source, key)
        ), numbered as (
            select id, case when "offset" < whole then 0 else row_number() over (
                partition by entity, source, key, "offset" < whole order by "offset", id
            ) end as round from judged
        )
        update warehouse.%1$I as work set round = numbered.round from numbered
        where work.id = numbered.id and numbered.round <> 1', _work, _whole
    );
    execute format('select coalesce(max(round), 0) from warehouse.%I', _work) into _rounds;
    loop
        for _round in _first .. _rounds loop
            for _shape in
                select
                    shape ->> 'older' as older, shape ->> 'newer' as newer, shape ->> 'kept' as kept,
                    format(
                        'work.entity = %L and work.op = any(%L) and work.round = %s', shape ->> 'entity',
                        case shape ->> 'op' when 'u' then array['u', 'r'] else array[shape ->> 'op'] end, _round
                    ) || coalesce(format(
                        ' and concat_ws('' '', work.state, work.version, work.schema) = any(%L)',
                        array_agg(shape ->> 'feed') filter (where shape ->> 'feed' is not null)
                    ), '') as condition
                from jsonb_array_elements(_shapes) as shape
                group by 1, 2, 3, shape ->> 'entity', shape ->> 'op'
            loop
                _rejected := _rejected
                + metl._warehouse_apply(_work, _shape.kept, _shape.older, _shape.newer, _shape.condition);
            end loop;
        end loop;
        -- Where one that brings all was rejected, those before it count.
        _first := _rounds + 1;
        execute format(
            'with numbered as (
                select work.id, row_number() over (
                    partition by work.entity, work.source, work.key order by work."offset"
                ) as place
                from warehouse.%1$I as work where work.round = 0 and exists (
                    select from warehouse.%1$I as bad where bad.round = -1
                    and (bad.entity, bad.source, bad.key) = (work.entity, work.source, work.key)
                )
            ), changed as (
                update warehouse.%1$I as work set round = %2$s + numbered.place from numbered
                where work.id = numbered.id returning work.round
            )
            select max(round) from changed', _work, _rounds
        ) into _rounds;
        exit when _rounds is null;
    end loop;
    return jsonb_build_object('taken', _taken, 'rejected', _rejected, 'state', metl.current_state());
end $$;
comment on function metl.merge_warehouse(text) is
'Merges the records that were copied into the table of metl.open_warehouse into the tables of their entities, and says '
'how many there were and how many were rejected. Records that come again change nothing, in whichever order.';
