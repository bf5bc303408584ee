create or replace function metl._edit(cause text, summary jsonb, changes metl._block_content[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _plan metl._cell_fate[];
    _state bigint;
begin
    perform metl._refuse_frozen(changes);
    _plan := array(select planned from metl._block_plan(changes) as planned);
    _state := metl._advance(_edit.cause, metl._summary(null, null, null, null, _plan) || _edit.summary);
    perform metl._store(_state, changes);
    perform metl._tell(_state, _plan, is_known => true);
    perform metl._remark(_plan);
    return _state;
end $$;
comment on function metl._edit(text, jsonb, metl._block_content[]) is 'Sets blocks by hand, as one state.';
