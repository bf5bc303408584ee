create or replace function metl._refuse_unapproved_losses(plan metl._cell_fate[], approved jsonb) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not metl._lost_cells(plan) <@ approved then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The plan would now lose cells that it did not show: %s', metl._lost_cells(plan)),
            hint = 'Mappings have changed since. Reject it and add the version again.';
    end if;
end $$;
comment on function metl._refuse_unapproved_losses(metl._cell_fate[], jsonb) is
'Refuses to lose more cells than the plan showed when it was confirmed.';
