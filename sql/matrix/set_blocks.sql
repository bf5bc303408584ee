create or replace function metl.set_blocks(blocks jsonb) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    _changes metl._block_content[];
    _twice record;
    _shape constant text := 'Give [{"schema": "…", "version": 1, "entity": "…", "entity_version": 1, '
        '"mapping": {"entity attribute": "attribute"}}, …].';
begin
    perform metl._lock();
    if blocks is null or jsonb_typeof(blocks) <> 'array' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The blocks are not an array: %s', coalesce(left(blocks::text, 100), 'null')),
            hint = _shape;
    end if;
    perform metl._refuse_invalid_blocks(blocks);
    _changes := array(
        select metl._parse_block(element.value) from jsonb_array_elements(blocks) as element
    );
    select s.name as schema, change.version, e.name as entity into _twice
    from unnest(_changes) as change
    inner join metl.schema as s on s.schema_id = change.schema_id
    inner join metl.entity as e on e.entity_id = change.entity_id
    group by s.name, change.version, e.name having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The block of schema %L version %s and entity %L is given twice.',
                             _twice.schema, _twice.version, _twice.entity),
            hint = 'Give each block once.';
    end if;
    return metl._edit_blocks('set_blocks', jsonb_build_object('blocks', cardinality(_changes)), _changes);
end $$;
comment on function metl.set_blocks(jsonb) is
'Sets many blocks as one state, all or nothing; an error lists every block that cannot be set.';
