create or replace function metl._plan_schema_version_end(schema text, version int) returns setof metl._cell_fate
language sql stable
as $$
    select
        one.schema_id, one.version, one.entity_id, one.entity_version, one.attribute_id, one.entity_attribute_id,
        one.schema, one.entity, one.attribute, one.entity_attribute, 'lost', 'deleted'
    from metl._ones as one
    where one.schema = _plan_schema_version_end.schema and one.version = _plan_schema_version_end.version
$$;
comment on function metl._plan_schema_version_end(text, int) is 'The cells that go with a schema version.';
