create or replace function metl.set_refs(schema text, version int, refs jsonb) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _schema_id int;
    _state bigint;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _state := metl._begin_state('set_refs', metl._state_summary(schema, version, null, null, '{}'));
    perform metl._replace_refs(_state, _schema_id, schema, version, refs);
    return _state;
end $$;
comment on function metl.set_refs(text, int, jsonb) is
'Sets the ids by which messages name a schema version, instead of those before: {"global_id": 17, "content_id": [3, '
'8]}. Kinds are global_id, content_id, confluent_id, confluent_guid, fingerprint. Returns the new state.';
