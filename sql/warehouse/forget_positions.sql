create or replace function metl.forget_positions(source text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _made record;
    _count bigint;
    _all bigint := 0;
begin
    for _made in
        select known.entity_id, known.name, named.name as entity
        from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
        order by named.name
    loop
        -- A batch is merged as a whole before or after.
        perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || _made.entity, 0));
        delete from metl.warehouse_truncate as known
        where known.entity_id = _made.entity_id and known.source = forget_positions.source;
        -- Somebody may have dropped it.
        continue when to_regclass(format('warehouse.%I', _made.name)) is null;
        -- No message is in this partition, so that times are compared, and none is older. Values stay as they are, for
        -- records that leave some out; from which offset they were means nothing now.
        execute format(
            'update warehouse.%I set _partition = -1, _offset = -1, _at = %s, _kept = null where _source = $1',
            _made.name, '(-9223372036854775808)'
        ) using source;
        get diagnostics _count = row_count;
        _all := _all + _count;
    end loop;
    -- The next record that is rejected may have the position of one of these, and would be taken for it.
    delete from warehouse._rejected as known where known.source = forget_positions.source;
    return _all;
end $$;
comment on function metl.forget_positions(text) is
'For a source topic that was deleted and recreated, so that its offsets begin again: makes its rows in all tables of '
'the warehouse older than any record, and deletes its truncates and rejected records; returns the number of rows. '
'Call it when the warehouse has merged all that was sent before, and before the topic is mapped again.';
