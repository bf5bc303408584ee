create or replace function metl._edit_blocks(cause text, summary jsonb, changes metl._block_content[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _plan metl._cell_fate[];
    _state bigint;
begin
    perform metl._refuse_frozen(changes);
    _plan := array(select planned from metl._plan_blocks(changes) as planned);
    _state := metl._begin_state(_edit_blocks.cause, metl._state_summary(null, null, null, null, _plan) || _edit_blocks.summary);
    perform metl._set_contents(_state, changes);
    perform metl._insert_notices(_state, _plan, is_known => true);
    perform metl._warn_of_casts(_plan);
    return _state;
end $$;
comment on function metl._edit_blocks(text, jsonb, metl._block_content[]) is 'Sets blocks by hand, as one state.';
