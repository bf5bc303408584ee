create or replace function metl.policy_of(schema text, entity text) returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select metl._effective_policy(metl._require_schema(schema), metl._require_entity(entity)) $$;
comment on function metl.policy_of(text, text) is 'The policy in force for a schema and an entity.';
