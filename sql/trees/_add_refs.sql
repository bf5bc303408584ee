create or replace function metl._add_refs(schema text, version int, refs jsonb) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema_version(schema, version);
    _known jsonb;
    _all jsonb;
    _state bigint;
begin
    select coalesce(jsonb_object_agg(by_kind.kind, by_kind.refs), '{}') into _known
    from (
        select known.kind, jsonb_agg(known.ref order by known.ref) as refs
        from metl.schema_ref as known
        where known.schema_id = _schema_id and known.version = _add_refs.version and known.until is null
        group by known.kind
    ) as by_kind;
    select coalesce(jsonb_object_agg(by_kind.kind, by_kind.refs), '{}') into _all
    from (
        select each.kind, jsonb_agg(distinct each.ref order by each.ref) as refs
        from (
            select * from metl._unnest_refs(_known) union all select * from metl._parse_refs(schema, version, refs)
        ) as each
        group by each.kind
    ) as by_kind;
    if _all = _known then
        return metl.current_state();
    end if;
    _state := metl._begin_state('set_refs', metl._state_summary(schema, version, null, null, '{}'));
    perform metl._replace_refs(_state, _schema_id, schema, version, _all);
    return _state;
end $$;
comment on function metl._add_refs(text, int, jsonb) is
'Gives a schema version these refs beside those that it has; a new state if one of them is new.';
