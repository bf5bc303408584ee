create or replace function metl.progression(schema text)
returns table (version int, entity text, entity_version int, attribute text, entity_attribute text, change text)
language sql stable
as $$
    with live as (
        select v.version, lag(v.version) over (order by v.version) as previous
        from metl.schema_versions as v
        where v.schema = progression.schema and v.deleted is null
    ),
    one as (
        select d.version, d.entity, d.entity_version, d.attribute, d.entity_attribute, a.attribute_id
        from metl.decompaction as d
        inner join metl.schema_attributes as a using (schema, version, attribute)
        where d.schema = progression.schema
    )
    select live.version, now.entity, now.entity_version, now.attribute, now.entity_attribute, 'gained'
    from live
    inner join one as now on live.version = now.version
    where not exists (
        select from one as before
        where
            before.version = live.previous and before.entity = now.entity
            and before.attribute_id = now.attribute_id and before.entity_attribute = now.entity_attribute
    )
    union all
    select live.version, before.entity, before.entity_version, before.attribute, before.entity_attribute, 'lost'
    from live
    inner join one as before on live.previous = before.version
    where not exists (
        select from one as now
        where
            now.version = live.version and before.entity = now.entity
            and before.attribute_id = now.attribute_id and before.entity_attribute = now.entity_attribute
    )
    order by 1, 6, 2, 5
$$;
comment on function metl.progression(text) is
'How the mappings of a schema went through its live versions: the cells that each gained and lost.';
