create or replace function metl._queue_plan(
    kind text, name text, version int, attributes jsonb, refs jsonb, plan metl._cell_fate[],
    description text default null, likely_renames jsonb default '[]'
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan_id bigint;
    _state bigint := metl.current_state();
begin
    insert into metl.waiting_plan (kind, name, version, attributes, refs, lost, description, likely_renames)
    values (
        _queue_plan.kind, _queue_plan.name, _queue_plan.version, _queue_plan.attributes, _queue_plan.refs, metl._lost_cells(plan), _queue_plan.description,
        _queue_plan.likely_renames
    )
    returning plan_id into _plan_id;
    insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, plan_id, likely_renames)
    select
        _state, 'waiting', block.schema, block.version, block.entity, block.entity_version, block.lost, _plan_id,
        metl._filter_renames(block.lost, _queue_plan.likely_renames)
    from metl._lost_by_block(plan, array['dropped', 'type_changed']) as block;
    raise notice using
        message = format('Version %s of %L waits as plan %s, since it would lose cells.', version, name, _plan_id),
        hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id) || coalesce((
            select format(
                ' If it is a rename: select metl.confirm_plan(%s, %L).', _plan_id,
                jsonb_object_agg(rename.value ->> 'attribute', rename.value ->> 'renamed_to')
            )
            from jsonb_array_elements(_queue_plan.likely_renames) as rename
            having count(*) > 0
        ), '');
    return _state;
end $$;
comment on function metl._queue_plan(text, text, int, jsonb, jsonb, metl._cell_fate[], text, jsonb) is
'Keeps an update as a plan until it is confirmed or rejected; no state is consumed.';
