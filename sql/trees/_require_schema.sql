create or replace function metl._require_schema(schema text) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found int;
begin
    select known.schema_id into _found from metl.schema as known where known.name = schema;
    if _found is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no schema %s.', coalesce(quote_literal(schema), 'null')),
            hint = 'metl.schema_versions (`metl matrix schemas`) lists the schemas that are known.';
    end if;
    return _found;
end $$;
comment on function metl._require_schema(text) is 'The id of a schema; an error if there is none of that name.';
