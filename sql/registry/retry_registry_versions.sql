create or replace function metl.retry_registry_versions(schema text) returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _retried int;
begin
    perform metl._lock();
    update metl.registry_version as known
    set
        outcome = 'pending',
        plan_id = null,
        problem = null,
        -- A number that was used is never used again.
        version = case when known.outcome <> 'taken' then known.version end
    from metl.registry_versions as shown
    where
        known.entry = shown.entry
        and shown.schema = retry_registry_versions.schema
        and shown.outcome in ('unreadable', 'conflict', 'rejected', 'deleted');
    get diagnostics _retried = row_count;
    return _retried;
end $$;
comment on function metl.retry_registry_versions(text) is
'Lets versions of a schema be taken from the registry once more: those that could not be read, were rejected, '
'or were deleted here; returns how many.';
