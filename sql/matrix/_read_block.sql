create or replace function metl._read_block(block jsonb) returns metl._block_content
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
    _version := metl._read_version(block -> 'version');
    _entity_version := metl._read_version(block -> 'entity_version');
    _schema_id := metl._require_schema_version(block ->> 'schema', _version);
    _entity_id := metl._require_entity_version(block ->> 'entity', _entity_version);
    return (
        _schema_id, _version, _entity_id, _entity_version,
        metl._read_mapping(_schema_id, _version, _entity_id, _entity_version, block -> 'mapping')
    );
end $$;
comment on function metl._read_block(jsonb) is 'Reads a block given as jsonb and refuses what is unknown or malformed.';

create or replace function metl._read_version(version jsonb) returns int
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if version is null or version::text !~ '^[0-9]{1,10}$' or version::text::bigint > 2147483647 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version.', coalesce(left(version::text, 100), 'Nothing')),
            hint = 'Versions are whole numbers from 1.';
    end if;
    return version;
end $$;
comment on function metl._read_version(jsonb) is 'Reads a version given as jsonb and refuses what is no number.';

create or replace function metl._refuse_blocks(blocks jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
    _message text;
    _hint text;
    _problems text[] := '{}';
begin
    for _each in
        select element.position, element.value
        from jsonb_array_elements(blocks) with ordinality as element (value, position)
    loop
        begin
            perform metl._read_block(_each.value);
        exception when others then
            get stacked diagnostics _message = message_text, _hint = pg_exception_hint;
            _problems := _problems || format('block %s: %s %s', _each.position, _message, _hint);
        end;
    end loop;
    if cardinality(_problems) > 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s of %s blocks cannot be set, so that none is. The first: %s',
                             cardinality(_problems), jsonb_array_length(blocks), _problems[1]),
            detail = array_to_string(_problems, E'\n'),
            hint = 'The detail lists them all. Mend them and give all blocks again.';
    end if;
end $$;
comment on function metl._refuse_blocks(jsonb) is 'An error that lists every one of some blocks that cannot be set.';
