create or replace function metl.confirm_notices(state bigint) returns int
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    with confirmed as (
        update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
        where notice.state = confirm_notices.state and notice.confirmed_at is null and notice.kind <> 'waiting'
        returning 1
    )
    select count(*)::int from confirmed
$$;
comment on function metl.confirm_notices(bigint) is
'Marks the notices of a state as seen; returns how many. Those of waiting plans go with their plan.';
