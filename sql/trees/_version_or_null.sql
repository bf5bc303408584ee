create or replace function metl._version_or_null(version text) returns int
language sql immutable
return case when version ~ '^[0-9]{1,10}$' and version::bigint <= 2147483647 then version::int end;
comment on function metl._version_or_null(text) is 'A version given as text; null if it is no number.';
