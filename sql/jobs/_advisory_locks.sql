create or replace view metl._advisory_locks as
select (held.classid::bigint << 32) | held.objid::bigint as key, held.pid
from pg_catalog.pg_locks as held
inner join pg_catalog.pg_database as here on held.database = here.oid
where
    held.locktype = 'advisory'
    -- Those with one key of 64 bits, which is shown in two halves.
    and held.objsubid = 1
    and held.granted
    and here.datname = current_database();
comment on view metl._advisory_locks is
'The advisory locks of this database, which let a job run once, and the sessions that hold them.';
