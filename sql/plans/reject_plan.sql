create or replace function metl.reject_plan(plan_id bigint) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._lock();
    perform metl._decide_plan(plan_id, 'rejected');
end $$;
comment on function metl.reject_plan(bigint) is 'Drops a waiting update; it stays on record.';
