create or replace function metl._let_go(keys bigint[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    select pg_advisory_unlock(held.key) from metl._held as held
    where held.key = any(_let_go.keys) and held.pid = pg_backend_pid()
$$;
comment on function metl._let_go(bigint[]) is
'Gives advisory locks back at once; those of a session outlast a transaction that fails.';
