create or replace function metl._match_schema_attributes(schema text, version int, fresh metl._given_attribute[])
returns table (name text, id bigint, previous_name text, goes_on boolean, type_changed boolean)
language sql stable
as $$
    select matched.*
    from (select (select s.schema_id from metl.schema as s where s.name = schema) as schema_id) as known
    cross join lateral metl._match_attributes(
        format('schema %L version %s', schema, version),
        fresh,
        metl._schema_attributes(known.schema_id, metl._live_version_before(known.schema_id, version)),
        metl._schema_attributes(known.schema_id, metl._live_version_after(known.schema_id, version))
    ) as matched
$$;
comment on function metl._match_schema_attributes(text, int, metl._given_attribute[]) is
'Matches the attributes of a new schema version with those of the live versions around it.';
