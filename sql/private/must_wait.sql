create or replace function metl._must_wait(plan metl._cell_fate[]) returns boolean
language sql stable
as $$
    select exists (
        select from (
            select distinct cell.schema_id, cell.entity_id
            from unnest(plan) as cell
            where cell.fate = 'lost' and cell.reason <> 'frozen'
        ) as losing
        where metl._policy(losing.schema_id, losing.entity_id) = 'confirm'
    )
$$;
comment on function metl._must_wait(metl._cell_fate[]) is
'Whether an update would lose cells for which somebody wants to be asked.';

create or replace function metl._wait(
    kind text, name text, version int, attributes jsonb, plan metl._cell_fate[]
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan_id bigint;
    _state bigint := metl.current_state();
begin
    select waiting.plan_id into _plan_id from metl.waiting_plan as waiting
    where waiting.kind = _wait.kind and waiting.name = _wait.name and waiting.version = _wait.version
        and waiting.decision is null;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Version %s of %L waits for confirmation already, as plan %s.', version, name, _plan_id),
            hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id);
    end if;
    insert into metl.waiting_plan (kind, name, version, attributes)
    values (_wait.kind, _wait.name, _wait.version, _wait.attributes)
    returning plan_id into _plan_id;
    insert into metl.notice (state, kind, schema, version, entity, entity_version, lost)
    select _state, 'waiting', block.schema, block.version, block.entity, block.entity_version, block.lost
    from metl._lost_by_block(plan, array['dropped', 'type_changed']) as block;
    raise notice using
        message = format('Version %s of %L waits as plan %s, since it would lose cells.', version, name, _plan_id),
        hint = format('select metl.confirm_plan(%s) or metl.reject_plan(%s).', _plan_id, _plan_id);
    return _state;
end $$;
comment on function metl._wait(text, text, int, jsonb, metl._cell_fate[]) is
'Keeps an update as a plan until somebody confirms or rejects it; no state is consumed.';
