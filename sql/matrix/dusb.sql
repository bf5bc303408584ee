create or replace view metl.dusb as
select
    schema.name as schema,
    entity.name as entity,
    block.entity_version,
    block.version,
    attribute.name as attribute,
    target.name as entity_attribute
from metl.block
inner join metl.schema on block.schema_id = schema.schema_id
inner join metl.entity on block.entity_id = entity.entity_id
left join metl.cell on block.block_id = cell.block_id
left join metl.attribute_version as attribute
    on cell.attribute_id = attribute.attribute_id and block.version = attribute.version
left join metl.entity_attribute_version as target
    on cell.entity_attribute_id = target.entity_attribute_id and block.entity_version = target.version
where block.until is null;
comment on view metl.dusb is
'The unique blocks as they are stored, one row per element; a null block is one row without attributes.';
