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
