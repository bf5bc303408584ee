create or replace function metl._live_version_before(schema_id int, version int) returns int
language sql stable
as $$
    select max(v.version) from metl.schema_version as v
    where v.schema_id = _live_version_before.schema_id and v.version < _live_version_before.version and v.deleted is null
$$;
comment on function metl._live_version_before(int, int) is
'The next lower live version of a schema; null if there is none.';
