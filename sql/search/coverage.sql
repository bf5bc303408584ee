create or replace function metl.coverage(entity text, entity_version int)
returns table (
    entity_attribute text, type text, sources int, schemas text[], all_schemas text[], unfed jsonb, column_policy text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := metl._require_entity_version(entity, entity_version);
begin
    return query
    with feeding as (
        select
            one.entity_attribute_id, one.schema,
            -- Today is the newest version of each schema, whatever older ones map.
            max(one.version) = (
                select max(v.version) from metl.schema_version as v
                where v.schema_id = one.schema_id and v.deleted is null
            ) as is_today
        from metl._ones as one
        where one.entity_id = _entity_id and one.entity_version = coverage.entity_version
        group by one.entity_attribute_id, one.schema, one.schema_id
    ),
    unfed as (
        select
            ended.entity_attribute_id,
            jsonb_agg(
                jsonb_build_object('schema', ended.schema, 'version', ended.version, 'state', ended.state)
                order by ended.schema
            ) as schemas
        from metl._unfed_attributes(_entity_id) as ended
        group by ended.entity_attribute_id
    )
    select
        wanted.name,
        identity.type,
        (count(*) filter (where feeding.is_today))::int,
        coalesce(array_agg(feeding.schema order by feeding.schema) filter (where feeding.is_today), '{}'),
        coalesce(array_agg(feeding.schema order by feeding.schema) filter (where feeding.schema is not null), '{}'),
        coalesce(unfed.schemas, '[]'),
        coalesce(policy.policy, 'keep')
    from metl.entity_attribute_version as wanted
    inner join metl.entity_attribute as identity on wanted.entity_attribute_id = identity.entity_attribute_id
    left join feeding on wanted.entity_attribute_id = feeding.entity_attribute_id
    left join unfed on wanted.entity_attribute_id = unfed.entity_attribute_id
    left join metl.column_policy as policy on wanted.entity_attribute_id = policy.entity_attribute_id
    where wanted.entity_id = _entity_id and wanted.version = coverage.entity_version
    group by wanted.name, identity.type, wanted.position, unfed.schemas, policy.policy
    order by wanted.position;
end $$;
comment on function metl.coverage(text, int) is
'Which schemas feed each attribute of an entity version in their newest version, and how many; which do in any; which '
'did once and do not today, since which version and state; and whether their rows keep the values that they had.';
