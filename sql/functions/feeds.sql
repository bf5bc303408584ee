create or replace function metl.feeds(schema text, version int)
returns table (entity text, entity_version int, attribute text, entity_attribute text)
language sql stable
as $$
    select one.entity, one.entity_version, one.attribute, one.entity_attribute
    from metl.decompaction as one
    where one.schema = feeds.schema and one.version = feeds.version
$$;
comment on function metl.feeds(text, int) is 'What a schema version feeds: its column set.';
