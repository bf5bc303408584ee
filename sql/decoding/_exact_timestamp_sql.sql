create or replace function metl._exact_timestamp_sql(value text) returns text
language sql immutable
return format(
    '(case when length(%1$s) > 15 and %1$s ~ ''[.][0-9]{6}[0-9]*[1-9]'' '
    'then metl._refuse_inexact_value(%1$s, ''microseconds'') else %1$s end)', value
);
comment on function metl._exact_timestamp_sql(text) is
'SQL for a time or a moment as text, refused if PostgreSQL would round it.';
