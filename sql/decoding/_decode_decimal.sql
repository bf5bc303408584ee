create or replace function metl._decode_decimal(bytes text, scale int) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    _bytes constant bytea := decode(bytes, 'base64');
    _found numeric := 0;
begin
    if bytes is null then
        return null;
    end if;
    if scale is null or length(_bytes) = 0 then
        perform metl._refuse_inexact_value(bytes, 'numeric, since its scale is not known');
    end if;
    for _at in 0 .. length(_bytes) - 1 loop
        _found := _found * 256 + get_byte(_bytes, _at);
    end loop;
    if get_byte(_bytes, 0) >= 128 then
        _found := _found - power(256::numeric, length(_bytes));
    end if;
    return case
        when scale > 0 then round(trim_scale(_found * power(10::numeric, -scale)), scale)
        else _found * power(10::numeric, -scale)
    end;
end $$;
comment on function metl._decode_decimal(text, int) is 'The number in a Connect Decimal: two''s complement, as base64.';
