create or replace function metl.decompaction_at(state bigint)
returns table (
    schema text, version int, entity text, entity_version int, attribute text, entity_attribute text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if decompaction_at.state is null or decompaction_at.state not between 0 and metl.current_state() then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('There is no state %s.', coalesce(decompaction_at.state::text, 'null')),
            hint = format('The states are 0 to %s.', metl.current_state());
    end if;
    return query select * from metl._decompaction_at(decompaction_at.state);
end $$;
comment on function metl.decompaction_at(bigint) is 'Every 1 of the matrix as it was in a state.';
