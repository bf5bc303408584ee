create or replace function metl.set_block(
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
        'set_block',
        jsonb_build_object('schema', schema, 'version', version, 'entity', entity, 'entity_version', entity_version),
        array[(
            _schema_id, version, _entity_id, entity_version,
            metl._parse_mapping(_schema_id, version, _entity_id, entity_version, mapping)
        )::metl._block_content]
    );
end $$;
comment on function metl.set_block(text, int, text, int, jsonb) is
'Sets one block: {"entity attribute": "attribute", …}, {} maps nothing. No other block changes. Returns the new state.';
