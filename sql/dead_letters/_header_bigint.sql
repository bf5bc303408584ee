create or replace function metl._header_bigint(header_value text) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when header_value ~ '^[0-9]{1,18}$' then header_value::bigint end
$$;
comment on function metl._header_bigint(text) is
'The number in a header; null if it is none: producers can write anything into headers.';
