create or replace function metl._header_int(said text) returns int
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when said ~ '^[0-9]{1,9}$' then said::int end
$$;
comment on function metl._header_int(text) is 'What a header says, if it is a number that an int can hold.';
