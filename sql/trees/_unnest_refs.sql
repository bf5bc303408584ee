create or replace function metl._unnest_refs(refs jsonb)
returns table (kind text, ref text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        given.key,
        -- A number or text as it is; anything else is no ref.
        case when jsonb_typeof(one) in ('number', 'string') then one #>> '{}' end
    from jsonb_each(refs) as given
    cross join lateral jsonb_array_elements(
        case jsonb_typeof(given.value) when 'array' then given.value else jsonb_build_array(given.value) end
    ) as one
$$;
comment on function metl._unnest_refs(jsonb) is 'Kinds and refs of {"kind": ref, "kind": [ref, …]}, unchecked.';
