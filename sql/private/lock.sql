create or replace function metl._lock() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform from metl.clock for update;
end $$;
comment on function metl._lock() is
'Makes writers take turns: each writer calls it first, and then sees what the one before it committed.';
