create or replace function metl.delete_entity_version(entity text, version int) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _entity_id int;
    _frozen text;
    _state bigint;
begin
    perform metl._lock();
    _entity_id := metl._require_entity_version(entity, version);
    select one.schema into _frozen from metl._ones as one
    where one.entity_id = _entity_id and metl._effective_policy(one.schema_id, _entity_id) = 'freeze' limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen.', _frozen, entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl plans policy set`).',
                          _frozen, entity);
    end if;
    _state := metl._begin_state('delete_entity_version', metl._state_summary(null, null, entity, version, array(
        select planned from metl._plan_entity_version_end(entity, version) as planned
    )));
    update metl.entity_version set deleted = _state where entity_id = _entity_id and deleted is null;
    perform metl._write_blocks(_state, array(
        select (block.schema_id, block.version, _entity_id, block.entity_version, null)::metl._block_content
        from metl.block
        where block.entity_id = _entity_id and block.until is null
    ));
    return _state;
end $$;
comment on function metl.delete_entity_version(text, int) is
'Deletes the live version of an entity with its rows of the matrix; returns the new state.';
