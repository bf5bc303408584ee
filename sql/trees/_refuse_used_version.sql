create or replace function metl._refuse_used_version(
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
comment on function metl._refuse_used_version(text, text, int, bigint, bigint) is
'Refuses a version number that is no number or was used before.';
