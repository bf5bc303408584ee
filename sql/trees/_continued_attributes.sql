create or replace function metl._continued_attributes(
    fresh metl._given_attribute[], lower_version metl._known_attribute[]
) returns table (name text, previous_name text, id bigint, same_type boolean)
language sql immutable
as $$
    -- An explicit rename comes before the same name.
    select
        each.name,
        coalesce(renamed.name, same.name),
        coalesce(renamed.id, same.id),
        coalesce(renamed.type, same.type) = each.type
    from unnest(fresh) as each
    left join unnest(lower_version) as renamed on each.renamed_from = renamed.name
    left join unnest(lower_version) as same on each.name = same.name
    where coalesce(renamed.id, same.id) is not null
$$;
comment on function metl._continued_attributes(metl._given_attribute[], metl._known_attribute[]) is
'Which attribute of the next lower version each new attribute continues, by rename or by name.';
