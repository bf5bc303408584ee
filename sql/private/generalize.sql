create or replace function metl._generalize(source_type text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    -- numeric(10,2) is numeric, and case does not matter.
    select accepted_type.type
    from metl.accepted_type
    where accepted_type.source_type = lower(btrim(regexp_replace(_generalize.source_type, '\s*\(.*\)', '')))
$$;
comment on function metl._generalize(text) is 'The generalized type that accepts a type; null if none does.';
