create or replace function metl.report_connectors(connect_url text, connectors jsonb) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    delete from metl.connector
    where
        connector.connect_url = report_connectors.connect_url
        and not exists (
            select from jsonb_array_elements(connectors) as seen (connector)
            where seen.connector ->> 'connector' = connector.connector
        );
    insert into metl.connector as known (
        connect_url, connector, prefix, status, problem, way_out, tasks, tables,
        slot, behind_bytes, wal_bytes, last_event_at
    )
    select
        report_connectors.connect_url, seen.connector, seen.prefix, seen.status, seen.problem, seen.way_out,
        coalesce(seen.tasks, '[]'), coalesce(seen.tables, '{}'), seen.slot, seen.behind_bytes, seen.wal_bytes, seen.last_event_at
    from jsonb_to_recordset(connectors) as seen (
        connector text, prefix text, status text, problem text, way_out text, tasks jsonb, tables text[],
        slot text, behind_bytes bigint, wal_bytes bigint, last_event_at timestamptz
    )
    on conflict on constraint connector_pk do update set
        prefix = excluded.prefix,
        status = excluded.status,
        problem = excluded.problem,
        way_out = excluded.way_out,
        tasks = excluded.tasks,
        tables = excluded.tables,
        slot = excluded.slot,
        behind_bytes = excluded.behind_bytes,
        wal_bytes = excluded.wal_bytes,
        -- Who looks may not reach Kafka.
        last_event_at = coalesce(excluded.last_event_at, known.last_event_at),
        reported_at = clock_timestamp();
$$;
comment on function metl.report_connectors(text, jsonb) is
'Reports the health of the connectors of one Kafka Connect, as an array of objects with the columns of '
'metl.connectors; those that are not in it are gone.';
