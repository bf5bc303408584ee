create or replace view metl.schema_versions as
select schema.name as schema, schema_version.version, schema_version.added, schema_version.deleted
from metl.schema_version
inner join metl.schema on schema_version.schema_id = schema.schema_id;
comment on view metl.schema_versions is
'Every version of every schema; deleted is the state that ended it, null if live.';
