create or replace function metl._require_schema(schema text) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found int;
begin
    select known.schema_id into _found from metl.schema as known where known.name = schema;
    if _found is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no schema %s.', coalesce(quote_literal(schema), 'null')),
            hint = 'metl.schema_versions (`metl schemas`) lists the schemas that are known.';
    end if;
    return _found;
end $$;
comment on function metl._require_schema(text) is 'The id of a schema; an error if there is none of that name.';

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

create or replace function metl._require_entity(entity text) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _found int;
begin
    select known.entity_id into _found from metl.entity as known where known.name = entity;
    if _found is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no entity %s.', coalesce(quote_literal(entity), 'null')),
            hint = 'metl.entity_versions (`metl entities`) lists the entities that are known.';
    end if;
    return _found;
end $$;
comment on function metl._require_entity(text) is 'The id of an entity; an error if there is none of that name.';

create or replace function metl._require_entity_version(entity text, version int) returns int
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _entity_id int := metl._require_entity(entity);
    _live int;
begin
    select v.version into _live from metl.entity_version as v where v.entity_id = _entity_id and v.deleted is null;
    if _live is distinct from version or version is null then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %s has no live version %s.', quote_literal(entity), coalesce(version::text, 'null')),
            hint = case
                when _live is null then 'It has no live version at all. Add one with metl.add_entity_version.'
                else format('Its live version is %s; a schema version maps to one version of an entity only.', _live)
            end;
    end if;
    return _entity_id;
end $$;
comment on function metl._require_entity_version(text, int) is
'The id of an entity; an error if that version is not live.';

create or replace function metl._require_new_version(
    what text, name text, version int, added bigint, deleted bigint
) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if version is null or version < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version of %s %s.', coalesce(version::text, 'null'), what, quote_literal(name)),
            hint = 'Versions are whole numbers from 1.';
    end if;
    if added is not null then
        raise exception using
            errcode = 'duplicate_object',
            message = format(
                'Version %s of %s %s %s.', version, what, quote_literal(name),
                case
                    when deleted is null then format('exists already, since state %s', added)
                    else format('was deleted in state %s', deleted)
                end
            ),
            hint = 'A number once used is never used again. Take a new one.';
    end if;
end $$;
comment on function metl._require_new_version(text, text, int, bigint, bigint) is
'Refuses a version number that is no number or was used before.';
