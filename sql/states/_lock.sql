create or replace function metl._lock() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    -- An update and not "for update": a repeatable-read writer must fail also after writers that begin no state.
    update metl.clock set state = clock.state;
end $$;
comment on function metl._lock() is
'Serializes writers: each calls it first, and then sees what the one before it committed.';
