create or replace function metl._lost_cells(plan metl._cell_fate[]) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'schema', cell.schema, 'version', cell.version, 'entity', cell.entity,
        'attribute', cell.attribute, 'entity_attribute', cell.entity_attribute
    )), '[]')
    from unnest(plan) as cell
    where cell.fate = 'lost' and cell.reason <> 'frozen'
$$;
comment on function metl._lost_cells(metl._cell_fate[]) is 'The cells that an update loses.';
