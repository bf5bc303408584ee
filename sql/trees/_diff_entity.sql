create or replace function metl._diff_entity(
    entity text, version int, fresh metl._given_attribute[], description text
) returns table (attribute text, change text, was text, becomes text)
language sql stable
as $$
    with live as (
        select v.entity_id, v.version, v.description
        from metl.entity as e
        inner join metl.entity_version as v on e.entity_id = v.entity_id and v.deleted is null
        where e.name = _diff_entity.entity
    ),
    known as (
        select a.name, a.position, a.optional, a.description, identity.type
        from live
        inner join metl.entity_attribute_version as a on live.entity_id = a.entity_id and live.version = a.version
        inner join metl.entity_attribute as identity on a.entity_attribute_id = identity.entity_attribute_id
    ),
    compared as (
        select
            each.position, each.name, each.type, each.optional, each.renamed_from, matched.previous_name,
            coalesce(each.description, '') as description,
            known.type as known_type, known.optional as known_optional,
            coalesce(known.description, '') as known_description
        from unnest(fresh) as each
        inner join metl._match_entity_attributes(_diff_entity.entity, _diff_entity.version, fresh) as matched
            on each.name = matched.name
        left join known on matched.previous_name = known.name
    )
    select change.attribute, change.change, change.was, change.becomes
    from (
        select 0 as place, null as attribute, 'described' as change, live.description as was,
            _diff_entity.description as becomes
        from live
        where coalesce(live.description, '') <> coalesce(_diff_entity.description, '')
        union all
        select compared.position, compared.name, difference.*
        from compared
        cross join lateral (
            -- Its renamed_from names no attribute.
            select 'added', compared.renamed_from, compared.type where compared.previous_name is null
            union all
            select 'renamed', compared.previous_name, compared.name where compared.previous_name <> compared.name
            union all
            select 'retyped', compared.known_type, compared.type where compared.known_type <> compared.type
            union all
            select case when compared.optional then 'made optional' else 'made mandatory' end, null, null
            where compared.known_optional <> compared.optional
            union all
            select 'described', compared.known_description, compared.description
            where compared.previous_name is not null and compared.known_description <> compared.description
        ) as difference (change, was, becomes)
        union all
        select known.position + cardinality(fresh), known.name, 'dropped', known.type, null
        from known
        where known.name not in (select c.previous_name from compared as c where c.previous_name is not null)
    ) as change
    order by change.place, change.change
$$;
comment on function metl._diff_entity(text, int, metl._given_attribute[], text) is
'In what the live version of an entity differs from what is given; the order of attributes is no difference.';
