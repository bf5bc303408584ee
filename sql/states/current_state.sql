create or replace function metl.current_state() returns bigint
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select clock.state from metl.clock $$;
comment on function metl.current_state() is 'The state of trees and matrix; 0 before the first change.';
