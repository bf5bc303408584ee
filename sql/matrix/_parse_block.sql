create or replace function metl._parse_block(block jsonb) returns metl._block_content
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _version int;
    _entity_version int;
    _schema_id int;
    _entity_id int;
begin
    if jsonb_typeof(block) <> 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('It is not an object: %s.', left(block::text, 100)),
            hint = 'Give {"schema", "version", "entity", "entity_version", "mapping"}.';
    end if;
    _version := metl._parse_version(block -> 'version');
    _entity_version := metl._parse_version(block -> 'entity_version');
    _schema_id := metl._require_schema_version(block ->> 'schema', _version);
    _entity_id := metl._require_entity_version(block ->> 'entity', _entity_version);
    return (
        _schema_id, _version, _entity_id, _entity_version,
        metl._parse_mapping(_schema_id, _version, _entity_id, _entity_version, block -> 'mapping')
    );
end $$;
comment on function metl._parse_block(jsonb) is
'Reads a block given as jsonb and refuses what is unknown or malformed.';
