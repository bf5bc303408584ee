create or replace function metl.merge_initial_load(
    entity text, source text, schema text, version int, at timestamptz, columns text[]
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _table text;
    -- In milliseconds, as in messages: only newer messages replace the rows.
    _at constant bigint := floor(extract(epoch from at) * 1000);
    _columns constant text[] := array(
        select name from unnest(columns) as name where name <> all(metl._cleared_columns(entity, schema))
    );
    _count bigint;
begin
    -- A table made by the caller could run functions of the caller with the owner's rights.
    if not exists (
        select from pg_class as given
        where given.oid = to_regclass('pg_temp.initial_load') and given.relkind = 'r' and given.relowner = current_user::regrole
    ) then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = 'There are no rows to merge.',
            hint = 'Call metl.open_initial_load and copy them into pg_temp.initial_load, in the same session.';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    select known.name into strict _table
    from metl.warehouse_table as known inner join metl.entity as named using (entity_id)
    where named.name = merge_initial_load.entity;
    execute format(
        'insert into warehouse.%1$I as old (_source, _key, _partition, _offset, _at, _deleted, _state, _schema, _version%2$s)
         select $1, _key, -1, $2, $2, false, $3, $5, $4%2$s from pg_temp.initial_load
         on conflict (_source, _key) do update set _partition = excluded._partition, _offset = excluded._offset,
            _at = excluded._at, _deleted = false, _state = excluded._state, _schema = excluded._schema,
            _version = excluded._version, _kept = null%3$s
         where excluded._at > old._at',
        _table,
        (select string_agg(format(', %I', name), '') from unnest(_columns) as name),
        (select string_agg(format(', %1$I = excluded.%1$I', name), '') from unnest(_columns) as name)
    ) using source, _at, metl.current_state(), version, schema;
    get diagnostics _count = row_count;
    drop table pg_temp.initial_load;
    return _count;
end $$;
comment on function metl.merge_initial_load(text, text, text, int, timestamptz, text[]) is
'Merges the rows of metl.open_initial_load, read at some time from the table of a schema version whose messages are in '
'a topic (the source), into the table of an entity; how many were new or newer. Columns are those that it feeds.';
