create or replace function metl._add_counts(counts jsonb, more jsonb) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_object_agg(total.key, total.count), '{}')
    from (
        select both_of.key, sum(both_of.value::bigint) as count
        from (select * from jsonb_each_text(counts) union all select * from jsonb_each_text(more)) as both_of
        group by both_of.key
    ) as total
$$;
comment on function metl._add_counts(jsonb, jsonb) is 'Two objects of counts, added up key by key.';
