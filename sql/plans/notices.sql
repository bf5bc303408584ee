create or replace view metl.notices as
select state, kind, schema, version, entity, entity_version, lost, created_at, confirmed_at, likely_renames
from metl.notice;
comment on view metl.notices is
'What stewards should know: cells lost, names that came back, problems of registry versions (see '
'metl.registry_versions).';
