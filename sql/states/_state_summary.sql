create or replace function metl._state_summary(
    schema text, version int, entity text, entity_version int, plan metl._cell_fate[]
) returns jsonb
language sql immutable
as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'schema', _state_summary.schema, 'version', _state_summary.version,
        'entity', _state_summary.entity, 'entity_version', _state_summary.entity_version,
        'kept', count(*) filter (where cell.fate = 'kept'),
        'lost', count(*) filter (where cell.fate = 'lost'),
        'gained', count(*) filter (where cell.fate = 'gained')
    ))
    from unnest(plan) as cell
$$;
comment on function metl._state_summary(text, int, text, int, metl._cell_fate[]) is
'The summary of a state: names, and how many cells were kept, lost and gained.';
