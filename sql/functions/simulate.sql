create or replace function metl.simulate(schema text, attributes jsonb) returns setof metl.planned_cell
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select cell.*
    from metl.plan_schema_version(
        schema,
        coalesce((select max(v.version) from metl.schema_versions as v where v.schema = simulate.schema), 0) + 1,
        attributes
    ) as cell
    where cell.fate = 'lost'
$$;
comment on function metl.simulate(text, jsonb) is
'The cells that a draft of the next version would lose; no rows: it is safe. For the CI of whoever owns the schema.';
