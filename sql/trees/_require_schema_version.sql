create or replace function metl._require_schema_version(schema text, version int) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _schema_id int := metl._require_schema(schema);
    _found record;
begin
    select v.deleted into _found from metl.schema_version as v
    where v.schema_id = _schema_id and v.version = _require_schema_version.version;
    if not found or _found.deleted is not null then
        raise exception using
            errcode = 'undefined_object',
            message = format(
                'Schema %s has no version %s%s.', quote_literal(schema), coalesce(version::text, 'null'),
                case when found then format(' any more: it was deleted in state %s', _found.deleted) else '' end
            ),
            hint = format('Its live versions are: %s.', coalesce((
                select string_agg(v.version::text, ', ' order by v.version) from metl.schema_version as v
                where v.schema_id = _schema_id and v.deleted is null
            ), 'none'));
    end if;
    return _schema_id;
end $$;
comment on function metl._require_schema_version(text, int) is
'The id of a schema; an error if that version is not live.';
