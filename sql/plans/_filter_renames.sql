create or replace function metl._filter_renames(lost jsonb, likely_renames jsonb) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_agg(rename.value order by rename.nth), '[]')
    from jsonb_array_elements(likely_renames) with ordinality as rename (value, nth)
    where lost @> jsonb_build_array(jsonb_build_object('attribute', rename.value -> 'attribute'))
$$;
comment on function metl._filter_renames(jsonb, jsonb) is 'Those likely renames that would spare some of these cells.';
