create or replace function metl.plan_renames(schema text, version int, attributes jsonb)
returns table (attribute text, renamed_to text, score numeric)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select rename.*
    from metl._likely_renames(schema, version, metl._parse_attributes(
        format('schema %L version %s', schema, version), metl._resolve_draft_aliases(schema, version, attributes)
    )) as rename;
end $$;
comment on function metl.plan_renames(text, int, jsonb) is
'Which attributes of the version before look renamed in a schema version that is to be added, the likeliest first.';
