create or replace function metl._migration_is_pending(migration text, checksum text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _number constant int := substring(migration from '^[0-9]+');
    _name constant text := replace(substring(migration from '_(.*)'), '_', ' ');
    _applied metl.migration;
begin
    select known.* into _applied from metl.migration as known where known.number = _number;
    if not found then
        return true;
    end if;
    -- A release before checksums applied it: take it over.
    if _applied.checksum is null and replace(_applied.name, '_', ' ') = _name then
        update metl.migration set checksum = _migration_is_pending.checksum, name = _name where number = _number;
        return false;
    end if;
    if _applied.checksum is distinct from _migration_is_pending.checksum then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Migration %s was changed after it was applied.', migration),
            detail = format(
                'The file has SHA-256 %s; migration %s (%s), applied at %s, had %s.', _migration_is_pending.checksum,
                _number, _applied.name, _applied.applied_at, coalesce(_applied.checksum, 'none')
            ),
            hint = 'An applied migration is never edited: restore the file, and make the change in a new migration.';
    end if;
    return false;
end $$;
comment on function metl._migration_is_pending(text, text) is
'Whether a migration, named as its file, still has to be applied; an error if it was applied in another form.';
