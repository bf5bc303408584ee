create or replace view metl.notices as
select state, kind, schema, version, entity, entity_version, lost, created_at, confirmed_at
from metl.notice;
comment on view metl.notices is
'What Auto-Update has to tell: blocks that shrank, vanished or changed type, with the cells; names that came back.';
