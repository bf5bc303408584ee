create or replace view metl.schema_changes as
select schema.name as schema, change.state
from (
    select block.schema_id, block.since as state from metl.block
    union all
    select block.schema_id, block.until from metl.block where block.until is not null
    union all
    select schema_version.schema_id, schema_version.added from metl.schema_version
    union all
    select schema_version.schema_id, schema_version.deleted from metl.schema_version
    where schema_version.deleted is not null
    union all
    select schema_ref.schema_id, schema_ref.since from metl.schema_ref
    union all
    select schema_ref.schema_id, schema_ref.until from metl.schema_ref where schema_ref.until is not null
) as change
inner join metl.schema on change.schema_id = schema.schema_id;
comment on view metl.schema_changes is
'The states that changed the versions, the mappings or the refs of each schema; a state may appear twice.';
