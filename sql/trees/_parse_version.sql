create or replace function metl._parse_version(version jsonb) returns int
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if version is null or version::text !~ '^[0-9]{1,10}$' or version::text::bigint > 2147483647 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a version.', coalesce(left(version::text, 100), 'Nothing')),
            hint = 'Versions are whole numbers from 1.';
    end if;
    return version;
end $$;
comment on function metl._parse_version(jsonb) is 'Reads a version given as jsonb and refuses what is no number.';
