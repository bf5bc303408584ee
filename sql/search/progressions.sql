create or replace view metl.progressions as
with live as (
    select
        v.schema_id,
        v.version,
        lag(v.version) over (partition by v.schema_id order by v.version) as previous
    from metl.schema_version as v
    where v.deleted is null
)

select
    now.schema, live.version, now.entity, now.entity_version, now.attribute, now.entity_attribute, 'gained' as change
from live
inner join metl._ones as now on live.schema_id = now.schema_id and live.version = now.version
where not exists (
    select from metl._ones as before
    where
        before.schema_id = now.schema_id
        and before.version = live.previous
        and before.entity_attribute_id = now.entity_attribute_id
        and (before.attribute_id = now.attribute_id or before.attribute = now.attribute)
)
union all
select
    before.schema,
    live.version,
    before.entity,
    before.entity_version,
    before.attribute,
    before.entity_attribute,
    'lost'
from live
inner join metl._ones as before on live.schema_id = before.schema_id and live.previous = before.version
where not exists (
    select from metl._ones as now
    where
        now.schema_id = before.schema_id
        and now.version = live.version
        and now.entity_attribute_id = before.entity_attribute_id
        and (now.attribute_id = before.attribute_id or now.attribute = before.attribute)
);
comment on view metl.progressions is
'How the mappings of each schema went through its live versions: the cells that each version gained and lost.';
