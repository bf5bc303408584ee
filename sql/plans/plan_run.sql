create or replace function metl.plan_run(
    schema text, version int, entity text, entity_version int, mapping jsonb
) returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._plan_blocks(metl._run_blocks(
        _schema_id, plan_run.version, _entity_id, plan_run.entity_version,
        metl._parse_mapping(_schema_id, plan_run.version, _entity_id, plan_run.entity_version, mapping)
    )) as cell;
end $$;
comment on function metl.plan_run(text, int, text, int, jsonb) is
'What setting a block and all later ones of its run would do to their cells, without doing it.';
