create or replace function metl._resolve_draft_aliases(schema text, version int, attributes jsonb) returns jsonb
language sql stable
as $$
    -- Some carry all their former names along, as registries have them.
    select case
        when exists (
            select
            from jsonb_array_elements(case jsonb_typeof(attributes) when 'array' then attributes else '[]' end) as each
            where jsonb_typeof(each.value -> 'renamed_from') = 'array'
        ) then metl._resolve_aliases(schema, version, attributes)
        else attributes
    end
$$;
comment on function metl._resolve_draft_aliases(text, int, jsonb) is
'The same for a draft, whose renamed_from is taken by its word where it is one name.';
