create or replace function metl._iso_year_sql(value text) returns text
language sql immutable
return format(
    '(case when left(%1$s, 1) in (''+'', ''-'') or left(%1$s, 5) = ''0000-'' '
    'then metl._iso_year_to_postgres(%1$s) else %1$s end)',
    value
);
comment on function metl._iso_year_sql(text) is
'SQL for a date or moment of ISO 8601 as PostgreSQL reads it; a look at its first letters suffices for most.';
