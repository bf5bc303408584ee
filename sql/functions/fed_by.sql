create or replace function metl.fed_by(entity text, entity_version int)
returns table (schema text, version int, attribute text, entity_attribute text)
language sql stable
as $$
    select one.schema, one.version, one.attribute, one.entity_attribute
    from metl.decompaction as one
    where one.entity = fed_by.entity and one.entity_version = fed_by.entity_version
$$;
comment on function metl.fed_by(text, int) is 'What feeds an entity version: the reverse search, its row set.';
