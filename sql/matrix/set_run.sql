create or replace function metl.set_run(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _schema_id int;
    _entity_id int;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _entity_id := metl._require_entity_version(entity, entity_version);
    return metl._edit_blocks(
        'set_run',
        jsonb_build_object('schema', schema, 'version', version, 'entity', entity, 'entity_version', entity_version),
        metl._run_blocks(
            _schema_id, version, _entity_id, entity_version,
            metl._parse_mapping(_schema_id, version, _entity_id, entity_version, mapping)
        )
    );
end $$;
comment on function metl.set_run(text, int, text, int, jsonb) is
'Sets a block and all later ones of its run, as far as their attributes go on. Returns the new state.';
