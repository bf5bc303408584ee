create or replace function metl._iso_year_sql(value text) returns text
language sql immutable
return format(
    '(case when left(%1$s, 1) in (''+'', ''-'') or left(%1$s, 5) = ''0000-'' '
    'then metl._iso_year_to_postgres(%1$s) else %1$s end)',
    value
);
comment on function metl._iso_year_sql(text) is
'SQL for an ISO 8601 date or timestamp as PostgreSQL reads it; for most the first characters suffice.';
