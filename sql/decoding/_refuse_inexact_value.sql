create or replace function metl._refuse_inexact_value(value text, type text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if value is null then
        return null;
    end if;
    raise exception using
        errcode = 'data_exception',
        message = format('%s does not fit type %s without being altered.', quote_literal(left(value, 200)), type);
end $$;
comment on function metl._refuse_inexact_value(text, text) is
'Refuses a value that would have to be altered; there is nothing to alter of null.';
