create or replace function metl._wire_moment(value text) returns text
language sql immutable
return format(
    '(case when length(%1$s) > 15 and %1$s ~ ''[.][0-9]{6}[0-9]*[1-9]'' '
    'then metl._does_not_fit(%1$s, ''microseconds'') else %1$s end)', value
);
comment on function metl._wire_moment(text) is
'SQL for a time or a moment as text, refused if PostgreSQL would round it.';
