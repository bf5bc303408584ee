create or replace function metl.confirm_plan(plan_id bigint, renames jsonb default null) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _plan metl.waiting_plan;
    _state bigint;
begin
    perform metl._lock();
    _plan := metl._decide_plan(plan_id, 'confirmed');
    if renames is not null then
        _plan.attributes := metl._apply_renames(_plan, renames);
    end if;
    _state := case _plan.kind
        when 'schema_version' then metl._add_schema_version(
            _plan.name, _plan.version, _plan.attributes, _plan.refs, _plan.lost
        )
        else metl._add_entity_version(
            _plan.name, _plan.version, _plan.attributes, _plan.description, _plan.lost
        )
    end;
    update metl.waiting_plan set state = _state, renames = confirm_plan.renames
    where waiting_plan.plan_id = confirm_plan.plan_id;
    return _state;
end $$;
comment on function metl.confirm_plan(bigint, jsonb) is
'Lets a waiting update happen; returns the new state. With renames, {"old": "new", …}, attributes of a schema version '
'that seem to be gone go on under their new names, and keep their cells.';
