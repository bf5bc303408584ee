create or replace function metl.feeds(schema text, version int)
returns table (entity text, entity_version int, attribute text, entity_attribute text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := metl._require_schema_version(schema, version);
begin
    return query
    select one.entity, one.entity_version, one.attribute, one.entity_attribute
    from metl._ones as one
    where one.schema_id = _schema_id and one.version = feeds.version;
end $$;
comment on function metl.feeds(text, int) is 'What a schema version feeds: its column set.';
