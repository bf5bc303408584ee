create or replace view metl.schema_refs as
select schema.name as schema, schema_ref.version, schema_ref.kind, schema_ref.ref
from metl.schema_ref
inner join metl.schema on schema_ref.schema_id = schema.schema_id
where schema_ref.until is null;
comment on view metl.schema_refs is
'By what messages name the live versions of each schema. A content may be that of several versions.';
