create or replace function metl.coverage(entity text, entity_version int)
returns table (entity_attribute text, type text, sources int, schemas text[])
language sql stable
as $$
    select
        wanted.entity_attribute,
        wanted.type,
        count(distinct one.schema)::int,
        coalesce(array_agg(distinct one.schema) filter (where one.schema is not null), '{}')
    from metl.entity_attributes as wanted
    left join metl.decompaction as one using (entity, entity_version, entity_attribute)
    where wanted.entity = coverage.entity and wanted.entity_version = coverage.entity_version
    group by wanted.entity_attribute, wanted.type, wanted.position
    order by wanted.position
$$;
comment on function metl.coverage(text, int) is 'How many schemas feed each attribute of an entity version, and which.';
