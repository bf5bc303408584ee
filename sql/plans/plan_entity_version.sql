create or replace function metl.plan_entity_version(entity text, version int, attributes jsonb)
returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._plan_entity_version(
        entity, version, metl._parse_attributes(format('entity %L version %s', entity, version), attributes)
    ) as cell
$$;
comment on function metl.plan_entity_version(text, int, jsonb) is
'What elevating an entity to a new version would do to each cell of the live one, without doing it.';
