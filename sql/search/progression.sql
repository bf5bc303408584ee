create or replace function metl.progression(schema text)
returns table (version int, entity text, entity_version int, attribute text, entity_attribute text, change text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform metl._require_schema(schema);
    return query
    select one.version, one.entity, one.entity_version, one.attribute, one.entity_attribute, one.change
    from metl.progressions as one
    where one.schema = progression.schema
    order by 1, 6, 2, 5;
end $$;
comment on function metl.progression(text) is
'How the mappings of a schema went through its live versions: the cells that each gained and lost.';
