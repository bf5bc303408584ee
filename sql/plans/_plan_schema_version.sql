create or replace function metl._plan_schema_version(schema text, version int, fresh metl._given_attribute[])
returns setof metl._cell_fate
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int := (select s.schema_id from metl.schema as s where s.name = _plan_schema_version.schema);
    _before int := metl._live_version_before(_schema_id, _plan_schema_version.version);
begin
    return query
    with matched as (
        select * from metl._match_schema_attributes(_plan_schema_version.schema, _plan_schema_version.version, fresh)
    ),
    previous as (
        select block.entity_id, block.entity_version, cell.attribute_id, cell.entity_attribute_id, block.is_frozen
        from (
            select distinct on (b.entity_id, b.entity_version)
                b.block_id, b.entity_id, b.entity_version,
                metl._effective_policy(_schema_id, b.entity_id) = 'freeze' as is_frozen
            from metl.block as b
            where b.schema_id = _schema_id and b.version <= _before and b.until is null
            order by b.entity_id, b.entity_version, b.version desc
        ) as block
        inner join metl.cell on block.block_id = cell.block_id
    ),
    fated as (
        select
            previous.entity_id, previous.entity_version, previous.attribute_id, previous.entity_attribute_id,
            coalesce(kept.name, old.name) as attribute,
            case when kept.id is null or previous.is_frozen then 'lost' else 'kept' end as fate,
            case
                when kept.id is not null and previous.is_frozen then 'frozen'
                when kept.id is null and retyped.name is not null then 'type_changed'
                when kept.id is null then 'dropped'
            end as reason
        from previous
        inner join metl.attribute_version as old on previous.attribute_id = old.attribute_id and old.version = _before
        left join matched as kept on previous.attribute_id = kept.id and kept.goes_on
        left join matched as retyped on old.name = retyped.previous_name and retyped.type_changed
    ),
    everything as (
        select * from fated
        union all
        select
            suggested.entity_id, suggested.entity_version, null::bigint, suggested.entity_attribute_id,
            suggested.attribute, 'suggested', 'came_back'
        from metl._suggest_returned_attributes(
            _schema_id, _before,
            array(select matched.name from matched where matched.id is null and matched.previous_name is null)
        ) as suggested
        where not exists (
            select from fated
            where fated.entity_attribute_id = suggested.entity_attribute_id and fated.fate = 'kept'
        )
    )
    select
        _schema_id, _plan_schema_version.version, everything.entity_id, everything.entity_version,
        everything.attribute_id, everything.entity_attribute_id,
        _plan_schema_version.schema,
        (select e.name from metl.entity as e where e.entity_id = everything.entity_id),
        everything.attribute,
        (
            select a.name from metl.entity_attribute_version as a
            where a.entity_attribute_id = everything.entity_attribute_id and a.version = everything.entity_version
        ),
        everything.fate, everything.reason
    from everything;
end $$;
comment on function metl._plan_schema_version(text, int, metl._given_attribute[]) is
'What becomes of each cell of the next lower version when a schema version is added.';
