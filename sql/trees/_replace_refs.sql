create or replace function metl._replace_refs(
    state bigint, schema_id int, schema text, version int, refs jsonb
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _kinds text[];
    _refs text[];
    _other metl.schema_ref;
begin
    select array_agg(given.kind), array_agg(given.ref) into _kinds, _refs
    from metl._parse_refs(_replace_refs.schema, _replace_refs.version, _replace_refs.refs) as given;
    select known.* into _other
    from unnest(_kinds, _refs) as given (kind, ref)
    inner join metl.schema_ref as known on given.kind = known.kind and given.ref = known.ref
    where
        known.schema_id = _replace_refs.schema_id
        and known.version <> _replace_refs.version
        and known.kind = 'global_id'
        and known.until is null
    limit 1;
    if found then
        raise exception using
            errcode = 'unique_violation',
            message = format('global_id %s of schema %L names version %s already.', _other.ref, schema, _other.version),
            hint = 'A global id names one version. Take it from that one first, with metl.set_refs.';
    end if;
    update metl.schema_ref set until = _replace_refs.state
    where
        schema_ref.schema_id = _replace_refs.schema_id
        and schema_ref.version = _replace_refs.version
        and schema_ref.until is null
        and not exists (
            select from unnest(_kinds, _refs) as given (kind, ref)
            where given.kind = schema_ref.kind and given.ref = schema_ref.ref
        );
    insert into metl.schema_ref (schema_id, version, kind, ref, since)
    select _replace_refs.schema_id, _replace_refs.version, given.kind, given.ref, _replace_refs.state
    from unnest(_kinds, _refs) as given (kind, ref)
    on conflict (schema_id, version, kind, ref) where until is null do nothing;
end $$;
comment on function metl._replace_refs(bigint, int, text, int, jsonb) is
'Gives a schema version these refs and no others.';
