create or replace function metl.simulate(schema text, attributes jsonb) returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema(schema);
    _next int := 1 + (select max(v.version) from metl.schema_version as v where v.schema_id = _schema_id);
begin
    return query
    select cell.*
    from metl.plan_schema_version(
        simulate.schema, _next, metl._resolve_draft_aliases(simulate.schema, _next, attributes)
    ) as cell
    where cell.fate = 'lost' and cell.reason <> 'frozen';
end $$;
comment on function metl.simulate(text, jsonb) is
'The cells that a draft of the next version would lose; no rows: it is safe. For the CI of the owners of the schema.';
