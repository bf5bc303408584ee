create or replace function metl._lost(plan metl._cell_fate[]) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'schema', cell.schema, 'version', cell.version, 'entity', cell.entity,
        'attribute', cell.attribute, 'entity_attribute', cell.entity_attribute
    )), '[]')
    from unnest(plan) as cell
    where cell.fate = 'lost' and cell.reason <> 'frozen'
$$;
comment on function metl._lost(metl._cell_fate[]) is 'The cells that an update loses.';

create or replace function metl._wait(
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
        _wait.kind, _wait.name, _wait.version, _wait.attributes, _wait.refs, metl._lost(plan), _wait.description,
        _wait.likely_renames
    )
    returning plan_id into _plan_id;
    insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, plan_id, likely_renames)
    select
        _state, 'waiting', block.schema, block.version, block.entity, block.entity_version, block.lost, _plan_id,
        metl._renames_of(block.lost, _wait.likely_renames)
    from metl._lost_by_block(plan, array['dropped', 'type_changed']) as block;
    raise notice using
        message = format('Version %s of %L waits as plan %s, since it would lose cells.', version, name, _plan_id),
        hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id) || coalesce((
            select format(
                ' If it is a rename: select metl.confirm_plan(%s, %L).', _plan_id,
                jsonb_object_agg(rename.value ->> 'attribute', rename.value ->> 'renamed_to')
            )
            from jsonb_array_elements(_wait.likely_renames) as rename
            having count(*) > 0
        ), '');
    return _state;
end $$;
comment on function metl._wait(text, text, int, jsonb, jsonb, metl._cell_fate[], text, jsonb) is
'Keeps an update as a plan until somebody confirms or rejects it; no state is consumed.';

create or replace function metl._refuse_to_overtake(kind text, name text, version int) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _waiting metl.waiting_plan;
begin
    select * into _waiting from metl.waiting_plan as waiting
    where
        waiting.kind = _refuse_to_overtake.kind
        and waiting.name = _refuse_to_overtake.name
        and waiting.version <= _refuse_to_overtake.version
        and waiting.decision is null
    order by waiting.version
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Version %s of %L waits as plan %s, so that version %s cannot be added yet.',
                             _waiting.version, name, _waiting.plan_id, version),
            hint = format('Decide it first: select metl.confirm_plan(%s) or metl.reject_plan(%s) (`metl plans`).',
                          _waiting.plan_id, _waiting.plan_id);
    end if;
end $$;
comment on function metl._refuse_to_overtake(text, text, int) is
'Refuses a version while one up to it waits: it would copy from the wrong version and lose what that one keeps.';

create or replace function metl._refuse_new_losses(plan metl._cell_fate[], approved jsonb) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not metl._lost(plan) <@ approved then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The plan would now lose cells that it did not show: %s', metl._lost(plan)),
            hint = 'Mappings have changed since. Reject it and add the version again.';
    end if;
end $$;
comment on function metl._refuse_new_losses(metl._cell_fate[], jsonb) is
'Refuses to lose more than whoever confirms a plan was shown.';
