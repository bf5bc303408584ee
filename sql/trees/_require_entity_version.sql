create or replace function metl._require_entity_version(entity text, version int) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _entity_id int := metl._require_entity(entity);
    _live int;
begin
    select v.version into _live from metl.entity_version as v where v.entity_id = _entity_id and v.deleted is null;
    if _live is distinct from version or version is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %s has no live version %s.', quote_literal(entity), coalesce(version::text, 'null')),
            hint = case
                when _live is null then 'It has no live version at all. Add one with metl.add_entity_version.'
                else format('Its live version is %s; a schema version maps to one version of an entity only.', _live)
            end;
    end if;
    return _entity_id;
end $$;
comment on function metl._require_entity_version(text, int) is
'The id of an entity; an error if that version is not live.';
