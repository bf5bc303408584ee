create or replace function metl._live_version_after(schema_id int, version int) returns int
language sql stable
as $$
    select min(v.version) from metl.schema_version as v
    where v.schema_id = _live_version_after.schema_id and v.version > _live_version_after.version and v.deleted is null
$$;
comment on function metl._live_version_after(int, int) is
'The next higher live version of a schema; null if there is none.';
