create or replace function metl._store_refs(
    state bigint, schema_id int, schema text, version int, refs jsonb
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _other metl.schema_ref;
begin
    select known.* into _other
    from metl.schema_ref as known
    inner join metl._read_refs(schema, version, refs) as given on known.kind = given.kind and known.ref = given.ref
    where
        known.schema_id = _store_refs.schema_id
        and known.version <> _store_refs.version
        and known.kind = 'global_id'
        and known.until is null
    limit 1;
    if found then
        raise exception using
            errcode = 'unique_violation',
            message = format('global_id %s of schema %L names version %s already.', _other.ref, schema, _other.version),
            hint = 'A global id names one version. Take it from that one first, with metl.set_refs.';
    end if;
    update metl.schema_ref set until = _store_refs.state
    where
        schema_ref.schema_id = _store_refs.schema_id
        and schema_ref.version = _store_refs.version
        and schema_ref.until is null
        and not exists (
            select from metl._read_refs(schema, version, refs) as given
            where given.kind = schema_ref.kind and given.ref = schema_ref.ref
        );
    insert into metl.schema_ref (schema_id, version, kind, ref, since)
    select _store_refs.schema_id, _store_refs.version, given.kind, given.ref, _store_refs.state
    from metl._read_refs(schema, version, refs) as given
    on conflict (schema_id, version, kind, ref) where until is null do nothing;
end $$;
comment on function metl._store_refs(bigint, int, text, int, jsonb) is
'Gives a schema version these refs and no others.';
