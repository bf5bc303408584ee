create or replace function metl._add_entity_version(
    entity text, version int, attributes jsonb, description text default null, approved jsonb default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _fresh metl._given_attribute[];
    _used metl.entity_version;
    _live int;
    _plan metl._cell_fate[];
    _frozen text;
    _state bigint;
    _entity_id int;
begin
    perform metl._check_name('entity', entity);
    perform metl._lock();
    select v.* into _used
    from metl.entity_version as v inner join metl.entity as e using (entity_id)
    where e.name = _add_entity_version.entity and v.version = _add_entity_version.version;
    perform metl._refuse_used_version('entity', entity, version, _used.added, _used.deleted);
    if approved is null then
        perform metl._refuse_to_overtake('entity_version', entity, version);
    end if;
    select v.version into _live
    from metl.entity_version as v inner join metl.entity as e using (entity_id)
    where e.name = _add_entity_version.entity and v.deleted is null;
    if _live > version then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Entity %L is at version %s already; version %s would be a second live one.', entity, _live, version),
            hint = format('Take a number above %s: a new version takes the place of the one before it.', _live);
    end if;
    _fresh := metl._parse_attributes(format('entity %L version %s', entity, version), attributes);

    _plan := array(select planned from metl._plan_entity_version(entity, version, _fresh) as planned);
    select mapped.schema into _frozen
    from (select distinct cell.schema_id, cell.entity_id, cell.schema from unnest(_plan) as cell) as mapped
    where metl._effective_policy(mapped.schema_id, mapped.entity_id) = 'freeze' limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen, and a new version of the entity would end it.',
                             _frozen, entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl plans policy set`).',
                          _frozen, entity);
    end if;
    if approved is not null then
        perform metl._refuse_unapproved_losses(_plan, approved);
    elsif metl._needs_confirmation(_plan) then
        return metl._queue_plan('entity_version', entity, version, attributes, '{}', _plan, description);
    end if;
    _state := metl._begin_state('add_entity_version', metl._state_summary(null, null, entity, version, _plan));
    _entity_id := metl._insert_entity_version(_state, entity, version, description, _fresh);
    perform metl._move_blocks(_state, _entity_id, _live, version);
    perform metl._insert_notices(_state, _plan);
    return _state;
end $$;
comment on function metl._add_entity_version(text, int, jsonb, text, jsonb) is
'Adds an entity version, carries the rows of the live one over and lets it take its place; waits if it must.';
