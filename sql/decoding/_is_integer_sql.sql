-- Of what should be a number or a date, and not of anything: a regular expression would take three times as long.
create or replace function metl._is_integer_sql(value text) returns text
language sql immutable
return format('translate(substr(%s, 2), ''0123456789'', '''') = ''''', value);
comment on function metl._is_integer_sql(text) is
'SQL for whether a value consists of digits, with perhaps a sign before them.';
