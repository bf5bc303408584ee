create or replace function metl._try_advisory_locks(keys bigint[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _key bigint;
    _taken bigint[] := '{}';
begin
    foreach _key in array keys loop
        -- A lock taken twice would have to be given back twice.
        continue when exists (
            select from metl._advisory_locks as held where held.key = _key and held.pid = pg_backend_pid()
        );
        if not pg_try_advisory_lock(_key) then
            perform metl._release_advisory_locks(_taken);
            return null;
        end if;
        _taken := _taken || _key;
    end loop;
    return _taken;
end $$;
comment on function metl._try_advisory_locks(bigint[]) is
'Takes advisory locks until the session ends, all or none; returns those that are new to it, null if another session '
'holds one.';
