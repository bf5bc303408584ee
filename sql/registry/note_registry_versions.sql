create or replace function metl.note_registry_versions(
    registry text, registry_group text, listing jsonb, read_until timestamptz, gone bigint[] default '{}'
) returns setof metl.registry_event
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _found metl.registry_version[];
begin
    perform metl._check_name('registry', registry);
    perform metl._lock();
    _found := metl._parse_listing(note_registry_versions.registry, listing);
    update metl.registry_version as known set gone_at = clock_timestamp()
    where known.entry = any(gone) and known.registry = note_registry_versions.registry and known.gone_at is null;
    -- One that was deleted and recreated is another version under the same name.
    update metl.registry_version as known set gone_at = clock_timestamp()
    from unnest(_found) as found
    where
        known.gone_at is null
        and (known.registry, known.registry_group, known.artifact, known.registry_version)
        = (found.registry, found.registry_group, found.artifact, found.registry_version)
        and (known.global_id, known.confluent_id, known.created_on)
        is distinct from (found.global_id, found.confluent_id, found.created_on);

    return query
    select event.*
    from unnest(_found) as found
    inner join metl.registry_version as known
        on
            known.gone_at is null
            and (known.registry, known.registry_group, known.artifact, known.registry_version)
            = (found.registry, found.registry_group, found.artifact, found.registry_version)
            and known.registry_state is distinct from found.registry_state
            and known.outcome <> 'passed over'
    cross join lateral metl._make_registry_event(
        'state changed', jsonb_populate_record(known, jsonb_build_object('registry_state', found.registry_state))
    ) as event
    order by known.position;

    insert into metl.registry_version as known (
        registry, registry_group, artifact, registry_version, artifact_type, position, global_id, content_id,
        confluent_id, registry_state, created_on, modified_on, schema, outcome
    )
    select
        found.registry, found.registry_group, found.artifact, found.registry_version, found.artifact_type,
        found.position, found.global_id, found.content_id, found.confluent_id, found.registry_state,
        found.created_on, found.modified_on, found.schema, found.outcome
    from unnest(_found) as found
    order by found.position
    on conflict (registry, registry_group, artifact, registry_version) where gone_at is null do update set
        content_id = excluded.content_id,
        registry_state = excluded.registry_state,
        modified_on = excluded.modified_on,
        -- What could not be read is read again once the registry has changed it.
        outcome = case
            when known.outcome in ('unreadable', 'conflict', 'passed over') then excluded.outcome else known.outcome
        end
    where
        (known.content_id, known.registry_state, known.modified_on)
        is distinct from (excluded.content_id, excluded.registry_state, excluded.modified_on);

    -- What stood in the way of another artifact of the same name may be gone now.
    update metl.registry_version as freed set outcome = 'pending'
    where
        freed.registry = note_registry_versions.registry
        and freed.outcome = 'conflict'
        and freed.gone_at is null
        and exists (
            select from metl.registry_version as other
            where other.schema = freed.schema and other.gone_at is not null and other.outcome <> 'ended'
        );
    insert into metl.registry_reading (registry, registry_group, read_until, read_at)
    select
        note_registry_versions.registry, coalesce(note_registry_versions.registry_group, ''), read_until,
        clock_timestamp()
    where note_registry_versions.read_until is not null
    on conflict on constraint registry_reading_pk do update set
        read_until = excluded.read_until, read_at = excluded.read_at;
end $$;
comment on function metl.note_registry_versions(text, text, jsonb, timestamptz, bigint[]) is
'Writes down what a registry was seen to have, of one group or (null) of all: an array of {"group", "artifact", '
'"version", "type", "position", "global_id", "content_id", "confluent_id", "state", "created_on", "modified_on"}; '
'which entries are gone from it; and up to when it was read. What there is to do then is in metl.registry_work. '
'Returns the states that changed.';
