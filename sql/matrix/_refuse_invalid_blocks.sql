create or replace function metl._refuse_invalid_blocks(blocks jsonb) returns void
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
            perform metl._parse_block(_each.value);
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
comment on function metl._refuse_invalid_blocks(jsonb) is
'An error that lists every one of some blocks that cannot be set.';
