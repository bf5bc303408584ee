create or replace function metl.fed_by(entity text, entity_version int)
returns table (schema text, version int, attribute text, entity_attribute text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select one.schema, one.version, one.attribute, one.entity_attribute
    from metl._ones as one
    where one.entity_id = _entity_id and one.entity_version = fed_by.entity_version;
end $$;
comment on function metl.fed_by(text, int) is 'What feeds an entity version: the reverse search, its row set.';
