-- A name begins with an underscore only if it is ours, and PostgreSQL keeps 63 bytes of it.
create or replace function metl._warehouse_identifier(name text) returns text
language sql immutable
return case
    when
        octet_length(name) <= 63 and name not like '\_%'
        and name not in ('ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid')
        then name
    else substr(regexp_replace(name, '[^A-Za-z0-9]+', '_', 'g'), 1, 40) || '~' || substr(md5(name), 1, 8)
end;
comment on function metl._warehouse_identifier(text) is
'The name of a table or column: that of the entity or attribute. One that is longer than PostgreSQL takes, begins with '
'an underscore or is one of PostgreSQL''s own is shortened and ends with ~ and a digest.';
