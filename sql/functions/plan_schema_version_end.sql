create or replace function metl.plan_schema_version_end(schema text, version int)
returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._column_end(schema, version) as cell
$$;
comment on function metl.plan_schema_version_end(text, int) is
'What deleting a schema version would do, without doing it.';
