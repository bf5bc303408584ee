create or replace function metl._header_bigint(said text) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when said ~ '^[0-9]{1,18}$' then said::bigint end
$$;
comment on function metl._header_bigint(text) is
'The number in a header; null if it is none: producers can write anything into headers.';
