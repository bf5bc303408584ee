create or replace function metl.check_mappings(lines metl.mapping_line[])
returns table (line int, about text, value text, problem text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select * from metl._line_problems(array(select read from metl._resolve_lines(lines) as read)) $$;
comment on function metl.check_mappings(metl.mapping_line[]) is
'Everything that is wrong with some lines, as rows; no rows: metl.set_mappings would take them. '
'about is the column whose value is not known, if it is that.';
