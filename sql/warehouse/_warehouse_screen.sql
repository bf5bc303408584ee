create or replace function metl._warehouse_screen(staged text, entity text) returns bigint
language sql
as $$
    select sum(metl._warehouse_reject(
        staged, format('work.entity = %L and work.round > 0 and (%s)', entity, unfit.condition), unfit.reason
    ))
    from metl._warehouse_unfit() as unfit
$$;
comment on function metl._warehouse_screen(text, text) is
'Rejects the records of an entity that nobody could merge; how many there are.';
