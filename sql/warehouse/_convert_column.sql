create or replace function metl._convert_column(relation text, name text, type text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _old text;
    _lost text;
    _reason text;
begin
    select format_type(atttypid, atttypmod) into _old
    from pg_attribute where attrelid = format('warehouse.%I', relation)::regclass and attname = name;
    begin
        -- There and back again: what a cast drops is lost as much as what it refuses.
        execute format(
            'select %1$I::text from warehouse.%2$I where %1$I is distinct from %1$I::text::%3$s::text::%4$s limit 1',
            name, relation, type, _old
        ) into _lost;
        _reason := format('%L would be altered', left(_lost, 200));
        if _lost is null then
            execute format('alter table warehouse.%1$I alter column %2$I type %3$s using %2$I::text::%3$s', relation, name, type);
            return;
        end if;
    exception when data_exception or cannot_coerce then
        _reason := sqlerrm;
    end;
    raise exception using
        errcode = 'datatype_mismatch',
        message = format('Column %I of warehouse.%I cannot become %s: %s.', name, relation, type, _reason),
        hint = 'Mend those values at their source and load them again, or add a version of the entity that has another '
        'name for it.';
end $$;
comment on function metl._convert_column(text, text, text) is
'Changes the type of a column, if every value fits.';
