create or replace function metl._plan_entity_version(entity text, version int, fresh metl._given_attribute[])
returns setof metl._cell_fate
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int := (select e.entity_id from metl.entity as e where e.name = _plan_entity_version.entity);
    _live int := (select v.version from metl.entity_version as v where v.entity_id = _entity_id and v.deleted is null);
begin
    return query
    with matched as (
        select * from metl._match_entity_attributes(_plan_entity_version.entity, _plan_entity_version.version, fresh)
    )
    select
        one.schema_id, one.version, _entity_id, _plan_entity_version.version, one.attribute_id, one.entity_attribute_id,
        one.schema, _plan_entity_version.entity, one.attribute, coalesce(kept.name, one.entity_attribute),
        case when kept.id is null then 'lost' else 'kept' end,
        case when kept.id is null then case when retyped.name is null then 'dropped' else 'type_changed' end end
    from metl._ones as one
    left join matched as kept on one.entity_attribute_id = kept.id
    left join matched as retyped on one.entity_attribute = retyped.previous_name and retyped.type_changed
    where one.entity_id = _entity_id and one.entity_version = _live;
end $$;
comment on function metl._plan_entity_version(text, int, metl._given_attribute[]) is
'What becomes of each cell of the live version of an entity when a new version takes its place.';
