create or replace function metl._normalize_type(source_type text) returns text
language sql immutable
-- numeric(10,2) is numeric, and case does not matter.
return lower(regexp_replace(regexp_replace(source_type, '\s*\([^)]*\)', '', 'g'), '^\s+|\s+$', '', 'g'));
comment on function metl._normalize_type(text) is 'A type as metl.accepted_type spells it.';
