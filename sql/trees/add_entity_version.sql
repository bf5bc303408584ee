create or replace function metl.add_entity_version(entity text, version int, attributes jsonb) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_entity_version(entity, version, attributes) $$;
comment on function metl.add_entity_version(text, int, jsonb) is
'Adds a version of an entity, which takes the place of the one before with its mappings; returns the new state.';

create or replace function metl.add_entity_version(
    entity text, version int, attributes jsonb, description text
) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$ select metl._add_entity_version(entity, version, attributes, description) $$;
comment on function metl.add_entity_version(text, int, jsonb, text) is
'The same, and says what the entity means.';
