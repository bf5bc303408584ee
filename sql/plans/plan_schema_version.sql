create or replace function metl.plan_schema_version(schema text, version int, attributes jsonb)
returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._plan_schema_version(
        schema, version, metl._parse_attributes(format('schema %L version %s', schema, version), attributes)
    ) as cell
$$;
comment on function metl.plan_schema_version(text, int, jsonb) is
'What adding a schema version would do to each cell of the version before it, without doing it.';
