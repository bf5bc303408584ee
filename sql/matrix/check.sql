create or replace function metl.check()
returns table (invariant text, schema text, version int, entity text, entity_version int, detail text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select violation.* from metl._invariant_violations() as violation
    union all
    select 'states have no gaps', null, null, null, null, format('%s states, the clock says %s', count(state.state), clock.state)
    from metl.clock left join metl.state on true
    group by clock.state
    having count(state.state) <> clock.state or coalesce(max(state.state), 0) <> clock.state
$$;
comment on function metl.check() is 'Every invariant that does not hold, as rows; no rows: all is well.';
