-- Data of every kind that the release before checksums can hold, beside that of the oldest one.
select metl.set_refs('orders', 1, '{"global_id": 17, "content_id": [3, 8], "fingerprint": "f"}');
select metl.set_refs('orders', 1, '{"global_id": 18}');
select metl.set_topic('shop.*', 'connect', 'debezium');
select metl.set_topic('orders', 'plain', 'flat', version => 2);
select metl.set_topic('former');
select metl.unset_topic('former');

-- A registry: taken, waiting, unreadable, and gone again.
select metl.note_registry_versions('apicurio', null, '[
    {"group": "default", "artifact": "payments", "version": 1, "type": "AVRO", "position": 1, "global_id": 1},
    {"group": "default", "artifact": "payments", "version": 2, "type": "AVRO", "position": 2, "global_id": 2},
    {"group": "default", "artifact": "refunds", "version": 1, "type": "JSON", "position": 3, "global_id": 3},
    {"group": "default", "artifact": "payments-key", "version": 1, "type": "AVRO", "position": 4, "global_id": 4}
]', '2026-01-01');
select metl.take_registry_version(1, '[{"name": "amount", "type": "decimal"}]', '{"global_id": 1}');
select metl.take_registry_version(3, null, null, 'It is no schema.');
select metl.note_registry_versions('apicurio', 'default', '[]', '2026-01-02', '{1}');
select metl.end_registry_version(1);

-- A job with batches, one of them with dead letters, and rows of it in the warehouse.
select metl.start_job('map', '/checkpoint', '00000000-0000-0000-0000-000000000001', '{"topics": ["orders"]}');
select metl.record_batch('map', '00000000-0000-0000-0000-000000000001', 0, '{
    "state": 3, "began_at": "2026-01-01", "ended_at": "2026-01-02", "rows_in": 3, "rows_out": 2, "rows_filtered": 0,
    "dead": {"malformed": 1}, "latency_ms": {"p50": 3}, "matrix_rows": 5, "matrix_bytes": 100, "lag": 7, "behind_ms": 9,
    "positions": {"orders": {"0": [0, 3]}}
}');
select metl.report_job('map', '00000000-0000-0000-0000-000000000001', 'halted', 'A test.');
select metl.stop_job('map');
select metl.set_column_policy('order', 'number', 'clear');
do $$
declare
    _staged text;
begin
    _staged := metl.open_warehouse('map');
    execute format(
        'insert into warehouse.%I (entity, source, key, partition, "offset", at, op, after, state, schema, version) values
        (''order'', ''orders'', ''{"id": 1}'', ''0'', ''1'', ''1000'', ''c'', ''{"sum": 12.50}'', ''%s'', ''orders'', ''5''),
        (''order'', ''orders'', ''{"id": 2}'', ''0'', ''2'', ''1000'', ''c'', ''{"sum": "none"}'', ''%s'', ''orders'', ''5''),
        (''order'', ''other'', ''null'', ''0'', ''9'', ''2000'', ''t'', null, ''%s'', ''orders'', ''5'')',
        _staged, metl.current_state(), metl.current_state(), metl.current_state()
    );
    perform metl.merge_warehouse('map', 'order');
end $$;
select metl.open_initial_load('order');
insert into pg_temp.initial_load (_key, sum) values ('{"id": 3}', 3.25);
select metl.merge_initial_load('order', 'orders', 'orders', 5, '2026-01-01', '{sum}');

-- Dead letters: dead, sent, given up and purged; operations of every kind, one that did not end.
select * from metl.collect_letters('dead', '[
    {"partition": 0, "offset": 0, "at": "2026-01-01", "key": null, "value": "YQ==", "headers": [["h", "YQ=="]],
     "said": {"__metl.reason": "malformed", "__metl.state": "3", "__connect.errors.topic": "orders"}},
    {"partition": 0, "offset": 1, "at": "2026-01-01", "key": "aw==", "value": "Yg==", "headers": [], "said": {}},
    {"partition": 0, "offset": 2, "at": "2026-01-01", "key": "aw==", "value": null, "headers": [], "said": {}}
]', '{"0": 3}');
select metl.begin_operation(kind, 'a test') from unnest(array[
    'replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load', 'capture_remove', 'capture_restart'
]) as kind;
select * from metl.send_letters('{2}', 1);
select metl.end_operation(1, '{"letters": 1}');
select metl.give_up_letters('{3}', 'a test', true);
select metl.report_connectors('http://here', '[
    {"connector": "shop", "status": "failed", "problem": "It is down.", "way_out": "Start it.", "tables": ["public.orders"]}
]');
