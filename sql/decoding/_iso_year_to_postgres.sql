-- ISO 8601 counts years with a sign and from a year 0 on, PostgreSQL backwards from 1 BC.
create or replace function metl._iso_year_to_postgres(value text) returns text
language sql immutable
return case
    when value ~ '^[+][0-9]' then substr(value, 2)
    when value ~ '^(-[0-9]|0000-)' then
        lpad((abs(substring(value from '^-?[0-9]+')::bigint) + 1)::text, 4, '0')
        || regexp_replace(value, '^-?[0-9]+', '') || ' BC'
    else value
end;
comment on function metl._iso_year_to_postgres(text) is
'A date or moment of ISO 8601 as PostgreSQL reads it, also before Christ and after the year 9999.';
