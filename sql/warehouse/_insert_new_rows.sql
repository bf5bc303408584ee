create or replace function metl._insert_new_rows(staged text, entity text, shapes jsonb) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _alike record;
    _every constant bigint := null;
begin
    for _alike in select * from metl._group_statements(shapes) loop
        execute _alike.shape ->> 'fresh' using entity, _alike.ops, 1, _alike.feeds, _every;
    end loop;
    return true;
-- Records that come again mostly do so from the first one on, so that little was done in vain.
exception when data_exception or cannot_coerce or program_limit_exceeded or unique_violation then
    return false;
end $$;
comment on function metl._insert_new_rows(text, text, jsonb) is
'Inserts all records of an entity as they are; false, and nothing is done, if there are two of a row, or one already, '
'or if a value does not fit.';
