create or replace function metl._require_registry_version(entry bigint) returns metl.registry_version
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found metl.registry_version;
begin
    select known.* into _found from metl.registry_version as known where known.entry = _require_registry_version.entry;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format('No version of a registry was noted as entry %s.', coalesce(entry::text, 'null')),
            hint = 'metl.registry_versions lists what was noted.';
    end if;
    return _found;
end $$;
comment on function metl._require_registry_version(bigint) is
'A version of a registry by its entry; an error if there is none.';
