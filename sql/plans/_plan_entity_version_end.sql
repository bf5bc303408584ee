create or replace function metl._plan_entity_version_end(entity text, version int) returns setof metl._cell_fate
language sql stable
as $$
    select
        one.schema_id, one.version, one.entity_id, one.entity_version, one.attribute_id, one.entity_attribute_id,
        one.schema, one.entity, one.attribute, one.entity_attribute, 'lost', 'deleted'
    from metl._ones as one
    where one.entity = _plan_entity_version_end.entity and one.entity_version = _plan_entity_version_end.version
$$;
comment on function metl._plan_entity_version_end(text, int) is 'The cells that go with an entity version.';
