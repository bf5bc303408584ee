create or replace function metl.confirm_notices(state bigint) returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _confirmed int;
begin
    -- Serialized like every write: two in opposite orders would deadlock.
    perform metl._lock();
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where notice.state = confirm_notices.state and notice.confirmed_at is null and notice.kind <> 'waiting';
    get diagnostics _confirmed = row_count;
    return _confirmed;
end $$;
comment on function metl.confirm_notices(bigint) is
'Marks the notices of a state as seen; returns how many. Those of waiting plans go with their plan.';
