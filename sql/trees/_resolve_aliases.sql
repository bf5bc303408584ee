create or replace function metl._resolve_aliases(schema text, version int, attributes jsonb) returns jsonb
language sql stable
as $$
    with before as (
        select known.name
        from metl.schema as s
        cross join lateral unnest(
            metl._schema_attributes(s.schema_id, metl._live_version_before(s.schema_id, _resolve_aliases.version))
        ) as known
        where s.name = _resolve_aliases.schema
    ),
    fresh as (
        select each.value, each.nth, each.value ->> 'name' as name
        from jsonb_array_elements(_resolve_aliases.attributes) with ordinality as each (value, nth)
    )
    select coalesce(jsonb_agg(
        (fresh.value - 'renamed_from') || coalesce((
            select jsonb_build_object('renamed_from', former.name)
            from jsonb_array_elements_text(
                case jsonb_typeof(fresh.value -> 'renamed_from')
                    when 'array' then fresh.value -> 'renamed_from'
                    when 'string' then jsonb_build_array(fresh.value -> 'renamed_from')
                    else '[]'
                end
            ) with ordinality as former (name, nth)
            where
                former.name not in (select other.name from fresh as other)
                -- One that continues under its own name may still carry the alias of long ago.
                and not (
                    former.name in (select before.name from before)
                    and fresh.name in (select before.name from before)
                )
            order by former.name in (select before.name from before) desc, former.nth
            limit 1
        ), '{}')
        order by fresh.nth
    ), '[]')
    from fresh
$$;
comment on function metl._resolve_aliases(text, int, jsonb) is
'Attributes with at most one renamed_from each: of the former names that a schema carries along, the one that counts.';
