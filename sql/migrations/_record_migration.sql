create or replace function metl._record_migration(migration text, checksum text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    insert into metl.migration (number, name, checksum)
    values (
        substring(migration from '^[0-9]+')::int, replace(substring(migration from '_(.*)'), '_', ' '),
        _record_migration.checksum
    )
$$;
comment on function metl._record_migration(text, text) is 'Records that a migration was applied.';
