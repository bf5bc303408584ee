create or replace view metl.schema_versions as
select schema.name as schema, schema_version.version, schema_version.added, schema_version.deleted
from metl.schema_version
inner join metl.schema on schema_version.schema_id = schema.schema_id;
comment on view metl.schema_versions is
'Every version of every schema; deleted is the state that ended it, null if live.';

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

create or replace view metl.entity_versions as
select
    entity.name as entity,
    entity_version.version,
    entity_version.added,
    entity_version.deleted,
    entity_version.description
from metl.entity_version
inner join metl.entity on entity_version.entity_id = entity.entity_id;
comment on view metl.entity_versions is
'Every version of every entity; deleted is the state that ended it, null if live.';

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
