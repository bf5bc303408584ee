create or replace function metl._parse_listing(registry text, listing jsonb) returns metl.registry_version[]
language sql stable
as $$
    select array_agg((
        null, _parse_listing.registry, found."group", found.artifact, found.version, found.type, found.position,
        found.global_id, found.content_id, found.confluent_id, found.state, found.created_on, found.modified_on,
        regexp_replace(found.artifact, '-value$', ''), null,
        case
            -- Keys, what METL publishes itself, what is not published yet, and what describes no messages.
            when found.artifact like '%-key' or found."group" = 'metl.cdm' or found.state = 'DRAFT' then 'passed over'
            -- Debezium's heartbeats and its notifications of snapshots are no rows.
            when found.artifact like any (array['\_\_debezium-heartbeat.%', 'metl.notifications.%']) then 'passed over'
            when found.type not in ('KCONNECT', 'JSON', 'AVRO', 'PROTOBUF') then 'passed over'
            else 'pending'
        end,
        null, null, null, null
    )::metl.registry_version)
    from jsonb_to_recordset(listing) as found (
        "group" text, artifact text, version text, type text, position bigint,
        global_id bigint, content_id bigint, confluent_id bigint,
        state text, created_on timestamptz, modified_on timestamptz
    )
$$;
comment on function metl._parse_listing(text, jsonb) is
'The listing of a registry as rows, with the schema of each and whether there is anything to do.';
