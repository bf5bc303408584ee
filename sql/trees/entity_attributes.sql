create or replace view metl.entity_attributes as
select
    entity.name as entity,
    attribute.version as entity_version,
    attribute.name as entity_attribute,
    attribute.position,
    identity.type,
    attribute.optional,
    attribute.description,
    attribute.renamed_from,
    attribute.entity_attribute_id,
    live.deleted is null as is_live
from metl.entity_attribute_version as attribute
inner join metl.entity_attribute as identity on attribute.entity_attribute_id = identity.entity_attribute_id
inner join metl.entity_version as live
    on attribute.entity_id = live.entity_id and attribute.version = live.version
inner join metl.entity on attribute.entity_id = entity.entity_id;
comment on view metl.entity_attributes is
'The attributes of every entity version; entity_attribute_id stays the same through the versions of one attribute.';
