create or replace function metl._insert_schema_version(
    state bigint, schema text, version int, fresh metl._given_attribute[]
) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int;
begin
    insert into metl.schema (name) values (_insert_schema_version.schema) on conflict do nothing;
    select known.schema_id into _schema_id from metl.schema as known where known.name = _insert_schema_version.schema;
    with wanted as materialized (
        select
            each.*, matched.id is null as is_new,
            coalesce(matched.id, nextval('metl.attribute_attribute_id_seq')) as attribute_id
        from unnest(fresh) as each
        inner join metl._match_schema_attributes(_insert_schema_version.schema, _insert_schema_version.version, fresh)
            as matched on each.name = matched.name
    ),
    _ as (
        insert into metl.schema_version (schema_id, version, added)
        values (_schema_id, _insert_schema_version.version, _insert_schema_version.state)
    ),
    __ as (
        insert into metl.attribute (attribute_id, schema_id, type) overriding system value
        select wanted.attribute_id, _schema_id, wanted.type from wanted where wanted.is_new
    )
    insert into metl.attribute_version (
        attribute_id, version, schema_id, name, position, source_type, optional, description, renamed_from
    )
    select
        wanted.attribute_id, _insert_schema_version.version, _schema_id, wanted.name, wanted.position,
        wanted.source_type, wanted.optional, wanted.description, wanted.renamed_from
    from wanted;
    return _schema_id;
end $$;
comment on function metl._insert_schema_version(bigint, text, int, metl._given_attribute[]) is
'Writes a schema version and its attributes into the tree; returns the id of the schema.';
