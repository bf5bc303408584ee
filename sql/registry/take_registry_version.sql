create or replace function metl.take_registry_version(
    entry bigint, attributes jsonb, refs jsonb, problem text default null, is_final boolean default true
) returns setof metl.registry_event
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _found metl.registry_version;
    _rival metl.registry_version;
    _event text;
    _state bigint;
begin
    if (attributes is null) = (problem is null) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Entry %s needs either attributes or a problem.', coalesce(entry::text, 'null')),
            hint = 'Give the attributes and refs of the version, or say why they cannot be read.';
    end if;
    perform metl._lock();
    _found := metl._require_registry_version(entry);
    if
        _found.outcome <> 'pending'
        or _found.gone_at is not null
        -- Nothing overtakes a version that waits; it is taken once that one is decided.
        or exists (
            select from metl.waiting_plan as plan
            where plan.kind = 'schema_version' and plan.name = _found.schema and plan.decision is null
        )
    then
        return;
    end if;
    -- The same problem again is no news.
    if problem = _found.problem and not is_final then
        return;
    end if;
    _found.problem := problem;
    select * into _rival from metl.registry_version as other
    where
        other.schema = _found.schema
        and other.outcome = 'taken'
        and other.gone_at is null
        and (other.registry, other.registry_group, other.artifact)
        <> (_found.registry, _found.registry_group, _found.artifact)
    limit 1;
    if found then
        _found.outcome := 'conflict';
        _found.problem := format('Schema %s is that of artifact %s in group %s of %s already, which was first.',
                                 _found.schema, _rival.artifact, _rival.registry_group, _rival.registry);
    else
        _found.version := coalesce(_found.version, metl._assign_schema_version(_found));
        if problem is null then
            select registered.* into _event, _found.plan_id, _state, _found.problem
            from metl._register_schema_version(_found.schema, _found.version, attributes, refs) as registered;
        end if;
        _found.outcome := case
            when problem is not null and not is_final then 'pending'
            when _event = 'conflict' then 'conflict'
            when _found.problem is not null then 'unreadable'
            else 'taken'
        end;
    end if;
    update metl.registry_version as known
    set version = _found.version, outcome = _found.outcome, plan_id = _found.plan_id, problem = _found.problem
    where known.entry = _found.entry;
    perform metl._update_registry_notice(_found);
    return query select event.* from metl._make_registry_event(
        case _found.outcome when 'taken' then _event when 'conflict' then 'conflict' else 'unreadable' end, _found, _state
    ) as event;
end $$;
comment on function metl.take_registry_version(bigint, jsonb, jsonb, text, boolean) is
'Makes an entry of metl.registry_work a version of its schema, with these attributes and refs; or, given a problem '
'instead, writes down why that cannot be, for good or until the next try. '
'Returns what became of it, nothing if it is not its turn.';
