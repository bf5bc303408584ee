create or replace function metl._likely_renames(schema text, version int, fresh metl._given_attribute[])
returns table (attribute text, renamed_to text, score numeric)
language sql stable
as $$
    with known as (
        select s.schema_id, metl._live_version_before(s.schema_id, _likely_renames.version) as before
        from metl.schema as s
        where s.name = _likely_renames.schema
    ),
    matched as materialized (
        select * from metl._match_schema_attributes(_likely_renames.schema, _likely_renames.version, fresh)
    ),
    lower_version as (
        select
            old.name, old.source_type, identity.type, old.position,
            exists (select from matched where matched.previous_name = old.name) as goes_on
        from known
        inner join metl.attribute_version as old on known.schema_id = old.schema_id and known.before = old.version
        inner join metl.attribute as identity on old.attribute_id = identity.attribute_id
    ),
    -- Its place is the number of continued attributes before it, whatever else came and went.
    gone as materialized (
        select placed.*, metl._bigrams(placed.name) as bigrams
        from (
            select *, count(*) filter (where goes_on) over (order by position) as place from lower_version
        ) as placed
        where not placed.goes_on
    ),
    come as materialized (
        select placed.*, metl._bigrams(placed.name) as bigrams
        from (
            select
                each.name, each.source_type, each.type, each.position,
                matched.id is null and matched.previous_name is null as is_new,
                count(*) filter (where matched.previous_name is not null) over (order by each.position) as place
            from unnest(fresh) as each
            inner join matched on each.name = matched.name
        ) as placed
        where placed.is_new
    ),
    pair as (
        select
            gone.name as attribute, come.name as renamed_to, abs(gone.position - come.position) as distance,
            2.0 * (
                select count(*) from unnest(gone.bigrams) as bigram where bigram = any(come.bigrams)
            ) / (cardinality(gone.bigrams) + cardinality(come.bigrams)) as likeness,
            case
                when gone.place <> come.place then 0
                -- One that is dropped at the end and one that is added stand at the same place, too.
                when gone.place = (select count(*) from lower_version where goes_on) then 0.5
                else 1
            end as is_in_place,
            case when gone.source_type = come.source_type then 1 else 0.95 end as same_type
        from gone
        inner join come on gone.type = come.type
    ),
    scored as (
        -- Either is a reason of its own, and neither is a proof.
        select *, round((1 - (1 - 0.9 * likeness) * (1 - 0.6 * is_in_place)) * same_type, 2) as score from pair
    ),
    ranked as (
        select
            scored.*,
            row_number() over (partition by attribute order by score desc, distance, renamed_to) as of_old,
            row_number() over (partition by renamed_to order by score desc, distance, attribute) as of_new
        from scored
    )
    select ranked.attribute, ranked.renamed_to, ranked.score
    from ranked
    where ranked.of_old = 1 and ranked.of_new = 1 and ranked.score >= 0.5
    order by ranked.score desc, ranked.attribute
$$;
comment on function metl._likely_renames(text, int, metl._given_attribute[]) is
'Which attributes that are gone in a new version look renamed: to one of the same generalized type that came, by '
'name and place; score from 0.5 to 1.';
