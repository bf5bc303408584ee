create or replace function metl._lost_by_block(plan metl._cell_fate[], reasons text[])
returns table (schema text, version int, entity text, entity_version int, lost jsonb, is_empty boolean)
language sql immutable
as $$
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        jsonb_agg(
            jsonb_build_object('attribute', cell.attribute, 'entity_attribute', cell.entity_attribute)
            order by cell.entity_attribute
        ) filter (where cell.reason = any(reasons)),
        not bool_or(cell.fate in ('kept', 'gained'))
    from unnest(plan) as cell
    group by cell.schema, cell.version, cell.entity, cell.entity_version
    having bool_or(cell.reason = any(reasons))
$$;
comment on function metl._lost_by_block(metl._cell_fate[], text[]) is
'The cells that are lost (or suggested) for one of some reasons, block by block.';
