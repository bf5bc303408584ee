create or replace function metl._check_name(what text, name text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if name is null or name !~ '[^\s\u0001-\u0020\u007f-\u00a0\u00ad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The %s must have a name, but it is %s.', what, coalesce(quote_literal(name), 'null')),
            hint = 'Give it a name with at least one visible character.';
    end if;
    if length(name) > 500 then
        raise exception using
            errcode = 'name_too_long',
            message = format('The name of the %s has %s characters: %s…', what, length(name), left(name, 60)),
            hint = 'Names have at most 500 characters.';
    end if;
end $$;
comment on function metl._check_name(text, text) is 'Refuses names that are missing, blank or too long.';
