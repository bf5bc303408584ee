create or replace function metl._header_int(said text) returns int
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when said ~ '^[0-9]{1,9}$' then said::int end
$$;
comment on function metl._header_int(text) is 'The number in a header; null if it is none, or larger than an int.';
