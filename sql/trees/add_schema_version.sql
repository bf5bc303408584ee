-- Here and in every writer: security definer, since stewards write through functions, never to tables;
-- generic plans, since planning each query anew would cost more than running it.
create or replace function metl.add_schema_version(schema text, version int, attributes jsonb) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_schema_version(schema, version, attributes, '{}') $$;
comment on function metl.add_schema_version(text, int, jsonb) is
'Adds a version of an extraction schema with the mappings of the next lower live version; returns the new state.';

create or replace function metl.add_schema_version(
    schema text, version int, attributes jsonb, refs jsonb
) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_schema_version(schema, version, attributes, refs) $$;
comment on function metl.add_schema_version(text, int, jsonb, jsonb) is
'The same, and says by what messages name the version, as metl.set_refs does; all in one state.';
