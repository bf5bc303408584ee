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
inner join metl.schema on run.schema_id = schema.schema_id
inner join metl.cell on run.block_id = cell.block_id
-- The run of a stored block reaches to the next stored one, the last run to the highest version.
left join lateral (
    select following.version
    from metl.block as following
    where
        following.schema_id = run.schema_id
        and following.entity_id = run.entity_id
        and following.entity_version = run.entity_version
        and following.version > run.version
        and following.until is null
    order by following.version
    limit 1
) as next on true
-- Said in the negative because the planner then expects about as many rows as there are: as two
-- comparisons it expects a ninth of them, and looks the names of entity attributes up too late.
inner join metl.attribute_version as attribute
    on
        cell.attribute_id = attribute.attribute_id
        and (attribute.version < run.version or attribute.version >= next.version) is not true
-- Both always exist. Left joins leave the planner fewer orders to think about, which is most of the
-- time that a column set takes.
left join metl.entity on run.entity_id = entity.entity_id
left join metl.entity_attribute_version as target
    on cell.entity_attribute_id = target.entity_attribute_id and run.entity_version = target.version
where
    run.until is null
    and not exists (
        select from metl.schema_version as gone
        where
            gone.schema_id = attribute.schema_id
            and gone.version = attribute.version
            and gone.deleted is not null
    );
comment on view metl._ones is 'Algorithm 4: every 1 of the current matrix, with its ids.';
