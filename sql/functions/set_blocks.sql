create or replace function metl.set_blocks(blocks jsonb) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _each record;
    _schema_id int;
    _entity_id int;
    _changes metl._block_content[] := '{}';
    _message text;
    _hint text;
    _problems text[] := '{}';
    _shape constant text :=
        'Give [{"schema": "…", "version": 1, "entity": "…", "entity_version": 1, "mapping": {"entity attribute": "attribute"}}, …].';
begin
    perform metl._lock();
    if blocks is null or jsonb_typeof(blocks) <> 'array' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The blocks are not an array: %s', coalesce(left(blocks::text, 100), 'null')),
            hint = _shape;
    end if;
    for _each in
        select position, block.*
        from jsonb_array_elements(blocks) with ordinality as element (value, position)
        left join lateral jsonb_to_record(case jsonb_typeof(value) when 'object' then value else '{}' end)
            as block (schema text, version int, entity text, entity_version int, mapping jsonb) on true
    loop
        begin
            _schema_id := metl._require_schema_version(_each.schema, _each.version);
            _entity_id := metl._require_entity_version(_each.entity, _each.entity_version);
            _changes := _changes || (
                _schema_id, _each.version, _entity_id, _each.entity_version,
                metl._read_mapping(_schema_id, _each.version, _entity_id, _each.entity_version, _each.mapping)
            )::metl._block_content;
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
            hint = _shape;
    end if;
    return metl._edit('set_blocks', jsonb_build_object('blocks', cardinality(_changes)), _changes);
end $$;
comment on function metl.set_blocks(jsonb) is
'Sets many blocks as one state, all or nothing; an error lists every block that cannot be set.';
