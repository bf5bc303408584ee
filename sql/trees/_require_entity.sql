create or replace function metl._require_entity(entity text) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found int;
begin
    select known.entity_id into _found from metl.entity as known where known.name = entity;
    if _found is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %s.', coalesce(quote_literal(entity), 'null')),
            hint = 'metl.entity_versions (`metl entities list`) lists the entities that are known.';
    end if;
    return _found;
end $$;
comment on function metl._require_entity(text) is 'The id of an entity; an error if there is none of that name.';
