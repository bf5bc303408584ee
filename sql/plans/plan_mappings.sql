create or replace function metl.plan_mappings(lines metl.mapping_line[], clear_others boolean default false)
returns setof metl.planned_cell
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    _changes metl._block_content[] := metl._changed_blocks(lines, clear_others);
begin
    perform metl._refuse_frozen(_changes);
    return query
    select
        cell.schema, cell.version, cell.entity, cell.entity_version,
        cell.attribute, cell.entity_attribute, cell.fate, cell.reason
    from metl._plan_blocks(_changes) as cell;
end $$;
comment on function metl.plan_mappings(metl.mapping_line[], boolean) is
'What metl.set_mappings would do to the cells of the blocks that it changes, without doing it.';
