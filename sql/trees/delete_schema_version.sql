create or replace function metl.delete_schema_version(schema text, version int) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _state bigint;
begin
    perform metl._lock();
    _schema_id := metl._require_schema_version(schema, version);
    _state := metl._begin_state('delete_schema_version', metl._state_summary(schema, version, null, null, array(
        select planned from metl._plan_schema_version_end(schema, version) as planned
    )));
    update metl.schema_version set deleted = _state
    where schema_version.schema_id = _schema_id and schema_version.version = delete_schema_version.version;
    update metl.schema_ref set until = _state
    where
        schema_ref.schema_id = _schema_id
        and schema_ref.version = delete_schema_version.version
        and schema_ref.until is null;
    -- A run that it anchored is re-anchored at the next live version.
    perform metl._set_contents(_state, array(
        select (_schema_id, delete_schema_version.version, block.entity_id, block.entity_version, null)::metl._block_content
        from metl.block
        where
            block.schema_id = _schema_id
            and block.version = delete_schema_version.version
            and block.until is null
    ));
    return _state;
end $$;
comment on function metl.delete_schema_version(text, int) is
'Deletes a version of an extraction schema with its column of the matrix; returns the new state.';
