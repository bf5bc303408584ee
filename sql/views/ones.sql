create or replace view metl._ones as
select
    run.schema_id,
    attribute.version,
    run.entity_id,
    run.entity_version,
    cell.attribute_id,
    cell.entity_attribute_id,
    schema.name as schema,
    entity.name as entity,
    attribute.name as attribute,
    target.name as entity_attribute
from metl.block as run
inner join metl.cell on run.block_id = cell.block_id
-- The run of a stored block reaches to the next stored one, the last run to the highest version.
cross join lateral (
    select coalesce(min(following.version), 2147483647) as version
    from metl.block as following
    where
        following.schema_id = run.schema_id
        and following.entity_id = run.entity_id
        and following.entity_version = run.entity_version
        and following.version > run.version
        and following.until is null
) as run_end
inner join metl.attribute_version as attribute
    on
        cell.attribute_id = attribute.attribute_id
        and attribute.version >= run.version
        and attribute.version < run_end.version
inner join metl.schema_version as live
    on attribute.schema_id = live.schema_id and attribute.version = live.version and live.deleted is null
inner join metl.schema on run.schema_id = schema.schema_id
inner join metl.entity on run.entity_id = entity.entity_id
inner join metl.entity_attribute_version as target
    on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version
where run.until is null;
comment on view metl._ones is 'Algorithm 4: every 1 of the current matrix, with its ids.';
