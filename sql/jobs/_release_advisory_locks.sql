create or replace function metl._release_advisory_locks(keys bigint[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    select pg_advisory_unlock(held.key) from metl._advisory_locks as held
    where held.key = any(_release_advisory_locks.keys) and held.pid = pg_backend_pid()
$$;
comment on function metl._release_advisory_locks(bigint[]) is
'Releases advisory locks at once; those of a session outlast a transaction that fails.';
