create or replace function metl._match_attributes(
    owner text,
    fresh metl._given_attribute[],
    lower_version metl._known_attribute[],
    upper_version metl._known_attribute[]
) returns table (name text, id bigint, previous_name text, goes_on boolean, type_changed boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _claimed record;
begin
    -- Two attributes cannot both continue one.
    select claim.previous_name, array_agg(claim.name order by claim.name) as names into _claimed
    from metl._continued_attributes(fresh, lower_version) as claim
    group by claim.previous_name having count(*) > 1 limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s of %s both continue %s.',
                             array_to_string(_claimed.names, ' and '), owner, _claimed.previous_name),
            hint = 'At most one attribute may be renamed_from another, and that name must be gone or renamed itself.';
    end if;
    return query
    with below as (
        select claim.name, claim.previous_name, claim.id, claim.same_type
        from metl._continued_attributes(fresh, lower_version) as claim
    ),
    -- A version that comes late may share an attribute with the version above it only.
    above as (
        select distinct on (known.id) each.name, known.id, each.name = known.renamed_from as was_renamed
        from unnest(fresh) as each
        inner join unnest(upper_version) as known
            on each.type = known.type and each.name in (known.name, known.renamed_from)
        where
            not exists (select from below where below.name = each.name and below.same_type)
            and not exists (select from below where below.id = known.id and below.same_type)
        -- As from below, an explicit rename comes before the same name.
        order by known.id, (each.name = known.renamed_from) desc nulls last
    )
    select
        each.name,
        coalesce(case when below.same_type then below.id end, above.id),
        below.previous_name,
        coalesce(below.same_type, false),
        coalesce(not below.same_type, false)
    from unnest(fresh) as each
    left join below on each.name = below.name
    left join lateral (
        select above.id from above
        where above.name = each.name
        order by above.was_renamed desc nulls last, above.id
        limit 1
    ) as above on true;
end $$;
comment on function metl._match_attributes(
    text, metl._given_attribute[], metl._known_attribute[], metl._known_attribute[]
) is
'Which attribute of its neighbours each attribute of a new version is equivalent to: its id, null if it is new; '
'goes_on: it is one of the version below, from which mappings are carried over.';
