create or replace function metl.progression(schema text)
returns table (version int, entity text, entity_version int, attribute text, entity_attribute text, change text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := metl._require_schema(schema);
begin
    return query
    with live as (
        select v.version, lag(v.version) over (order by v.version) as previous
        from metl.schema_version as v
        where v.schema_id = _schema_id and v.deleted is null
    ),
    one as (
        select * from metl._ones where _ones.schema_id = _schema_id
    )
    select live.version, now.entity, now.entity_version, now.attribute, now.entity_attribute, 'gained'
    from live
    inner join one as now on live.version = now.version
    where not exists (
        select from one as before
        where
            before.version = live.previous
            and before.entity_attribute_id = now.entity_attribute_id
            and (before.attribute_id = now.attribute_id or before.attribute = now.attribute)
    )
    union all
    select live.version, before.entity, before.entity_version, before.attribute, before.entity_attribute, 'lost'
    from live
    inner join one as before on live.previous = before.version
    where not exists (
        select from one as now
        where
            now.version = live.version
            and before.entity_attribute_id = now.entity_attribute_id
            and (before.attribute_id = now.attribute_id or before.attribute = now.attribute)
    )
    order by 1, 6, 2, 5;
end $$;
comment on function metl.progression(text) is
'How the mappings of a schema went through its live versions: the cells that each gained and lost.';
