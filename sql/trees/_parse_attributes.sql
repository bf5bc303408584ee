create or replace function metl._parse_attributes(owner text, attributes jsonb) returns metl._given_attribute[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _element jsonb;
    _position int := 0;
    _key text;
    _read metl._given_attribute[] := '{}';
    _one metl._given_attribute;
    _shape constant text := 'Give an array of objects: '
        '[{"name": "id", "type": "int32", "optional": true, "description": "…", "renamed_from": "…"}, …]; '
        'name and type are needed, the rest is optional.';
begin
    if attributes is null or jsonb_typeof(attributes) <> 'array' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The attributes of %s are not an array: %s', owner, coalesce(left(attributes::text, 100), 'null')),
            hint = _shape;
    end if;
    for _element in select value from jsonb_array_elements(attributes) loop
        _position := _position + 1;
        if jsonb_typeof(_element) <> 'object' then
            raise exception using
                errcode = 'invalid_parameter_value',
                message = format('Attribute %s of %s is not an object: %s', _position, owner, left(_element::text, 100)),
                hint = _shape;
        end if;
        for _key in select key from jsonb_each(_element) where not case
            when key in ('name', 'type') then jsonb_typeof(value) = 'string'
            when key in ('description', 'renamed_from') then jsonb_typeof(value) in ('string', 'null')
            when key = 'optional' then jsonb_typeof(value) in ('boolean', 'null')
            else false
        end loop
            raise exception using
                errcode = 'invalid_parameter_value',
                message = format('Attribute %s of %s has %s: %s, which is not understood.',
                                 _position, owner, to_json(_key), left((_element -> _key)::text, 100)),
                hint = _shape;
        end loop;
        perform metl._check_name(format('attribute %s of %s', _position, owner), _element ->> 'name');
        if _element ->> 'renamed_from' is not null then
            perform metl._check_name(format('attribute that %s of %s was renamed from', _element ->> 'name', owner),
                                     _element ->> 'renamed_from');
        end if;
        _one := (
            _position, _element ->> 'name', _element ->> 'type', null,
            coalesce((_element ->> 'optional')::boolean, false), _element ->> 'description', _element ->> 'renamed_from'
        );
        _read := _read || _one;
    end loop;
    _read := array(
        select (
            each.position, each.name, each.source_type, accepted.type,
            each.optional, each.description, each.renamed_from
        )::metl._given_attribute
        from unnest(_read) as each
        left join metl.accepted_type as accepted on accepted.source_type = metl._normalize_type(each.source_type)
        order by each.position
    );
    select each.* into _one from unnest(_read) as each where each.type is null order by each.position limit 1;
    if found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Attribute %s of %s has the unknown type %s.',
                             _one.name, owner, coalesce(left(_one.source_type, 100), 'null')),
            hint = 'metl.accepted_type has the types that are known; the owner of the database can add to it.';
    end if;
    select each.name into _key from unnest(_read) as each group by each.name having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'duplicate_object',
            message = format('%s has two attributes named %s.', owner, _key),
            hint = 'Names of attributes are unique within a version.';
    end if;
    return _read;
end $$;
comment on function metl._parse_attributes(text, jsonb) is
'Reads attributes given as jsonb and refuses what is malformed; owner names them in errors.';
