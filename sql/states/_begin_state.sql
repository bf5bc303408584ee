create or replace function metl._begin_state(cause text, summary jsonb) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _state bigint;
begin
    update metl.clock set state = clock.state + 1 returning clock.state into _state;
    insert into metl.state (state, cause, summary, why)
    values (_state, _begin_state.cause, _begin_state.summary, nullif(btrim(current_setting('metl.why', true)), ''));
    -- A hint only: it may be merged with others, and who listens should look at the number as well.
    perform pg_notify('metl_state', _state::text);
    return _state;
end $$;
comment on function metl._begin_state(text, jsonb) is
'Begins the next state and notifies those who listen on channel metl_state. The setting metl.why is recorded as the '
'reason, if the session has it.';
