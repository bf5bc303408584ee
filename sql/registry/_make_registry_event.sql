create or replace function metl._make_registry_event(event text, found metl.registry_version, state bigint default null)
returns metl.registry_event
language sql stable
as $$
    select (
        event, found.schema, found.version,
        found.registry_group, found.artifact, found.registry_version, found.registry_state,
        _make_registry_event.state,
        (made.summary ->> 'kept')::int,
        case event when 'waiting' then jsonb_array_length(plan.lost) else (made.summary ->> 'lost')::int end,
        plan.plan_id, found.problem
    )::metl.registry_event
    from (select found.plan_id) as one
    left join metl.state as made on made.state = _make_registry_event.state
    left join metl.waiting_plan as plan on one.plan_id = plan.plan_id
$$;
comment on function metl._make_registry_event(text, metl.registry_version, bigint) is
'The event that is reported of a version of a registry; the state, if it made one, has the counts of Auto-Update.';
