create or replace function metl.coverage(entity text, entity_version int)
returns table (entity_attribute text, type text, sources int, schemas text[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    select
        wanted.name,
        identity.type,
        count(distinct one.schema)::int,
        coalesce(array_agg(distinct one.schema) filter (where one.schema is not null), '{}')
    from metl.entity_attribute_version as wanted
    inner join metl.entity_attribute as identity on wanted.entity_attribute_id = identity.entity_attribute_id
    left join metl._ones as one
        on
            one.entity_id = _entity_id
            and one.entity_version = wanted.version
            and wanted.entity_attribute_id = one.entity_attribute_id
    where wanted.entity_id = _entity_id and wanted.version = coverage.entity_version
    group by wanted.name, identity.type, wanted.position
    order by wanted.position;
end $$;
comment on function metl.coverage(text, int) is 'How many schemas feed each attribute of an entity version, and which.';
