create or replace view metl.schema_attributes as
select
    schema.name as schema,
    attribute.version,
    attribute.name as attribute,
    attribute.position,
    attribute.source_type,
    identity.type,
    attribute.optional,
    attribute.description,
    attribute.renamed_from,
    attribute.attribute_id,
    live.deleted is null as is_live
from metl.attribute_version as attribute
inner join metl.attribute as identity on attribute.attribute_id = identity.attribute_id
inner join metl.schema_version as live
    on attribute.schema_id = live.schema_id and attribute.version = live.version
inner join metl.schema on attribute.schema_id = schema.schema_id;
comment on view metl.schema_attributes is
'The attributes of every schema version; attribute_id stays the same through the versions of one attribute.';
