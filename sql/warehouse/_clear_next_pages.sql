create or replace function metl._clear_next_pages(entity_id int) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- 8 MB: a second or so.
    _step constant bigint := 1024;
    _due record;
begin
    select clearing.*, made.name as relation, known.name, s.name as schema into _due
    from metl.warehouse_clearing as clearing
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.warehouse_table as made on known.entity_id = made.entity_id
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    where made.entity_id = _clear_next_pages.entity_id and clearing.next_block < clearing.end_block
    order by clearing.entity_attribute_id, clearing.schema_id
    limit 1;
    if not found then
        return 0;
    end if;
    -- Page by page, since rows that are changed meanwhile, and go elsewhere, are merged without the value.
    execute format(
        'update warehouse.%1$I set %2$I = null, _kept = nullif(_kept - %2$L, ''{}'') '
        'where ctid >= %3$L::tid and ctid < %4$L::tid and _schema = %5$L and %2$I is not null',
        _due.relation, _due.name, format('(%s,0)', _due.next_block), format('(%s,0)', _due.next_block + _step), _due.schema
    );
    update metl.warehouse_clearing as clearing set next_block = clearing.next_block + _step
    where clearing.entity_attribute_id = _due.entity_attribute_id and clearing.schema_id = _due.schema_id;
    return (
        select coalesce(sum(clearing.end_block - clearing.next_block), 0)
        from metl.warehouse_clearing as clearing
        inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
        where known.entity_id = _clear_next_pages.entity_id and clearing.next_block < clearing.end_block
    );
end $$;
comment on function metl._clear_next_pages(int) is
'Clears the next part of what is to be cleared in the table of an entity; how many pages are left.';
