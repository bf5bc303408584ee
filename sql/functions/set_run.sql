create or replace function metl.set_run(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _entity_id int;
    _content bigint[];
    _run_end int;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _entity_id := metl._require_entity_version(entity, entity_version);
    _content := metl._read_mapping(_schema_id, version, _entity_id, entity_version, mapping);
    select min(block.version) into _run_end from metl.block
    where
        block.schema_id = _schema_id
        and block.entity_id = _entity_id
        and block.entity_version = set_run.entity_version
        and block.version > set_run.version
        and block.until is null;
    return metl._edit(
        'set_run',
        jsonb_build_object('schema', schema, 'version', version, 'entity', entity, 'entity_version', entity_version),
        array(
            select (_schema_id, v.version, _entity_id, set_run.entity_version, coalesce((
                select array_agg(array[pair.attribute_id, pair.entity_attribute_id] order by pair.attribute_id)
                from metl._pairs(_content) as pair
                inner join metl.attribute_version as present
                    on pair.attribute_id = present.attribute_id and present.version = v.version
            ), '{}'))::metl._block_content
            from metl.schema_version as v
            where
                v.schema_id = _schema_id
                and v.version >= set_run.version
                and (v.version < _run_end or _run_end is null)
                and v.deleted is null
        )
    );
end $$;
comment on function metl.set_run(text, int, text, int, jsonb) is
'Sets a block and all later ones of its run, as far as their attributes go on. Returns the new state.';
