create or replace function metl.plan_entity_version_end(entity text, version int)
returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._require_entity_version(entity, version);
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._plan_entity_version_end(plan_entity_version_end.entity, plan_entity_version_end.version) as cell;
end $$;
comment on function metl.plan_entity_version_end(text, int) is
'What deleting an entity version would do, without doing it.';
